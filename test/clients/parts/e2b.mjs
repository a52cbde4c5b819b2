// E2B's released SDKs, unchanged, against the server: control plane, data plane and code interpreter, by the addresses of the server alone
// and by hosts beneath a domain. Two versions of the SDK: the newest, and one that makes sandboxes at the older path.
import assert from "node:assert/strict";
import crypto from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { test, until } from "../lib/report.mjs";
import { start_server, temporary_folder } from "../lib/server.mjs";

const HOME = "/home/user";
const DOMAIN = "e2b.test";
const TOKENS = { ann: "a".repeat(32), bob: "b".repeat(32) };
const server = await start_server({
    settings: {
        SANDBOX_WORK_DIR: HOME, MCP_PREVIEW_DOMAIN: DOMAIN,
        MCP_AUTH_TOKENS: Object.entries(TOKENS).map(([name, token]) => `${name}=${token}`).join(","),
    },
});
// The SDKs want e2b_ and hexadecimal digits; these may be those of a key's characters.
const key_of = (name) => `e2b_${Buffer.from(TOKENS[name]).toString("hex")}`;
Object.assign(process.env, { E2B_API_KEY: key_of("ann"), E2B_API_URL: server.url, E2B_SANDBOX_URL: server.url, E2B_DOMAIN: DOMAIN });
const { Template, waitForPort, Sandbox, CommandExitError, NotFoundError, FileNotFoundError, TimeoutError } = await import("e2b");
const { Sandbox: OlderSandbox } = await import("e2b-older");
const { Sandbox: CodeSandbox } = await import("@e2b/code-interpreter");

/// A request for a port of a sandbox by its host's name, which no name server knows here.
function by_host(host, path, { method = "GET", headers = {}, body } = {}) {
    return new Promise((done, failed) => {
        const { hostname, port } = new URL(server.url);
        const request = http.request({ hostname, port, path, method, headers: { ...headers, Host: host } }, async (answer) => {
            const parts = [];
            for await (const part of answer) parts.push(part);
            done({ status: answer.statusCode, text: Buffer.concat(parts).toString() });
        });
        request.on("error", failed).end(body);
    });
}

const box = await Sandbox.create({ metadata: { purpose: "first" }, envs: { GREETING: "hello" } });

await test("e2b: a sandbox has E2B's form, and its id is a part of a host's name", async () => {
    assert.match(box.sandboxId, /^[0-9a-f]{32}-[a-z0-9-]+$/);
    const info = await box.getInfo();
    assert.deepEqual([info.state, info.templateId, info.metadata.purpose, info.envdVersion], ["running", "base", "first", "0.6.4"]);
    assert.ok(info.endAt - info.startedAt > 290_000 && info.endAt - info.startedAt < 310_000);
    assert.equal(await box.isRunning(), true);
});

await test("e2b: a command has its output, its exit code, the sandbox's variables and its own", async () => {
    const done = await box.commands.run("echo $GREETING $NAME; echo oh >&2; pwd", { envs: { NAME: "ann" } });
    assert.deepEqual([done.stdout, done.stderr, done.exitCode], [`hello ann\n${HOME}\n`, "oh\n", 0]);
    await assert.rejects(box.commands.run("exit 7"), (error) => error instanceof CommandExitError && error.exitCode === 7);
});

await test("e2b: programs are those of user, and root where that is named or asked for by sudo", async () => {
    const who = async (command, options) => (await box.commands.run(command, options)).stdout.trim();
    assert.equal(await who("whoami; pwd; stat -c %U ."), `user\n${HOME}\nuser`);
    assert.equal(await who("whoami; echo $HOME", { user: "root" }), "root\n/root");
    assert.equal(await who("echo given | sudo sh -c 'cat; whoami; pwd; exit 3'; echo $?"), `given\nroot\n${HOME}\n3`);
    assert.equal(await who("sudo -u user whoami; sudo whoami | cat; sudo sh -c 'echo told >&2' 2>&1"), "user\nroot\ntold");
    await assert.rejects(box.commands.run("whoami", { user: "nobody-here" }), /invalid username/);
    await box.files.write("owned/by/user.txt", "1");
    await box.files.write("/opt/of-root.txt", "2", { user: "root" });
    assert.equal(await who("stat -c %U owned owned/by owned/by/user.txt /opt/of-root.txt; echo 3 > /opt/of-root.txt || cat /opt/of-root.txt"), "user\nuser\nuser\nroot\n2");
    assert.equal((await box.files.getInfo("owned/by")).owner, "user");
    assert.equal(await who("sudo chown root owned && ! touch owned/x && sudo chown user owned && touch owned/x && ls owned"), "by\nx");
    const interrupted = await box.commands.run("sudo sleep 31.6", { background: true });
    await until("it runs", () => who("pgrep -f 'sleep 31[.]6' || true"));
    await interrupted.kill();
    await until("it ends with sudo", async () => !(await who("pgrep -f 'sleep 31[.]6' || true")));
});

await test("e2b: what was changed outside of the working folder outlives a pause and is in a fork", async () => {
    const one = await Sandbox.create();
    await one.commands.run("echo kept | sudo tee /etc/kept > /dev/null; echo own > own");
    await one.pause();
    const again = await Sandbox.connect(one.sandboxId);
    const [fork] = await again.fork();
    for (const each of [again, fork]) assert.equal((await each.commands.run("cat /etc/kept own; whoami; echo more >> own")).stdout, "kept\nown\nuser\n");
    await fork.kill();
    await again.kill();
});

await test("e2b: output comes while the command runs, and its input is written and closed", async () => {
    const heard = [];
    const command = await box.commands.run("head -n1; cat", { background: true, stdin: true, onStdout: (text) => heard.push(text) });
    await command.sendStdin("one\n");
    await until("the first line", () => heard.join("") === "one\n");
    await command.sendStdin("two");
    await command.closeStdin();
    assert.equal((await command.wait()).stdout, "one\ntwo");
});

await test("e2b: a program is listed, joined by its number, and killed", async () => {
    const command = await box.commands.run("echo up; sleep 1000", { background: true });
    const listed = (await box.commands.list()).find(({ pid }) => pid === command.pid);
    assert.deepEqual(listed.args, ["-l", "-c", "echo up; sleep 1000"]);
    const joined = await box.commands.connect(command.pid);
    assert.equal(await joined.kill(), true);
    await assert.rejects(command.wait(), (error) => error instanceof CommandExitError && /killed/.test(error.error ?? error.message));
    assert.equal(await box.commands.kill(command.pid), false);
});

await test("e2b: a command that takes too long ends with its processes", async () => {
    await assert.rejects(box.commands.run("exec sleep 31.5", { timeoutMs: 500 }), TimeoutError);
    await until("it has ended", async () => !(await box.commands.run("pgrep -f 'sleep 31[.]5' || true")).stdout);
});

await test("e2b: a terminal takes input and a size, and ends", async () => {
    let shown = "";
    const terminal = await box.pty.create({ cols: 80, rows: 24, onData: (bytes) => (shown += Buffer.from(bytes).toString()) });
    await box.pty.resize(terminal.pid, { cols: 100, rows: 30 });
    await box.pty.sendInput(terminal.pid, new TextEncoder().encode("stty size; exit 5\n"));
    await assert.rejects(terminal.wait(), (error) => error.exitCode === 5);
    assert.match(shown, /30 100/);
});

await test("e2b: files are written, compressed, read, listed, moved and removed, with their metadata", async () => {
    const big = crypto.randomBytes(3 << 20);
    const written = await box.files.write("folder/big.bin", new Blob([big]), { metadata: { author: "ann" } });
    assert.deepEqual([written.path, written.metadata], [`${HOME}/folder/big.bin`, { author: "ann" }]);
    assert.ok(Buffer.from(await box.files.read("folder/big.bin", { format: "bytes" })).equals(big));
    await box.files.write("packed.txt", "x".repeat(100_000), { gzip: true });
    assert.equal((await box.commands.run("wc -c < packed.txt")).stdout.trim(), "100000");
    assert.equal((await box.files.read("packed.txt", { gzip: true })).length, 100_000);
    await box.files.write([{ path: "a \"b\".txt", data: "1" }, { path: "c/d.txt", data: "2" }]);
    assert.equal((await box.commands.run("cat 'a \"b\".txt' c/d.txt")).stdout, "12");
    const moved = await box.files.rename("c/d.txt", "e.txt");
    assert.deepEqual([moved.name, moved.type, moved.size], ["e.txt", "file", 1]);
    assert.equal((await box.files.getInfo("folder/big.bin")).metadata.author, "ann");
    assert.deepEqual((await box.files.list("folder")).map(({ name, size }) => [name, size]), [["big.bin", 3 << 20]]);
    assert.deepEqual([await box.files.makeDir("folder"), await box.files.makeDir("new/deep")], [false, true]);
    await box.files.remove("folder");
    assert.equal(await box.files.exists("folder"), false);
    await assert.rejects(box.files.read("folder/big.bin"), FileNotFoundError ?? NotFoundError);
});

await test("e2b: changes below a folder are told", async () => {
    const heard = [];
    await box.files.makeDir("watched/inner");
    const handle = await box.files.watchDir("watched", (event) => heard.push(`${event.type} ${event.name}`), { recursive: true });
    await box.commands.run("echo 1 > watched/inner/f; rm watched/inner/f");
    await until("creation and end", () => heard.includes("create inner/f") && heard.includes("remove inner/f"));
    await handle.stop();
});

await test("e2b: links to files are signed, and good for one file, one way and their time", async () => {
    await box.files.write("signed.txt", "for you");
    const fetch_link = async (link) => {
        const answer = await fetch(link, { headers: { "e2b-sandbox-id": box.sandboxId, "e2b-sandbox-port": "49983" } });
        return [answer.status, await answer.text()];
    };
    const link = await box.downloadUrl("signed.txt", { useSignatureExpiration: 1000 });
    assert.deepEqual(await fetch_link(link), [200, "for you"]);
    assert.equal((await fetch_link(link.replace("signed.txt", "packed.txt")))[0], 401);
    const late = await box.downloadUrl("signed.txt", { useSignatureExpiration: -1000 });
    assert.deepEqual((await fetch_link(late))[0], 401);
    const { hostname } = new URL(`http://${box.getHost(49983)}`);
    const query = new URL(link).search;
    assert.deepEqual(await by_host(hostname, `/files${query}`), { status: 200, text: "for you" });
});

await test("e2b: a port is reached by its host, and told apart from one where nothing listens", async () => {
    await box.files.write("www/index.html", "served");
    const command = await box.commands.run("cd www; exec python3 -m http.server 8123", { background: true });
    const host = box.getHost(8123);
    assert.equal(host, `8123-${box.sandboxId}.${DOMAIN}`);
    await until("it is served", async () => (await by_host(host, "/")).status === 200);
    assert.equal((await by_host(host, "/index.html")).text, "served");
    await command.kill();
    const closed = await by_host(box.getHost(8124), "/");
    assert.equal(closed.status, 502);
    assert.match(closed.text, /port is not open/);
    const gone = await by_host(`8124-${"0".repeat(32)}-n9.${DOMAIN}`, "/");
    assert.deepEqual([gone.status, JSON.parse(gone.text).message], [502, "The sandbox was not found"]);
});

await test("e2b: lists are filtered and have pages, the newest first", async () => {
    const mark = crypto.randomUUID();
    const made = [];
    for (let at = 0; at < 3; at++) made.push(await Sandbox.create({ metadata: { mark, at: `n ${at} &=` } }));
    const pages = Sandbox.list({ limit: 2, query: { metadata: { mark } } });
    const first = await pages.nextItems();
    assert.deepEqual(first.map(({ sandboxId }) => sandboxId), [made[2].sandboxId, made[1].sandboxId]);
    assert.equal(pages.hasNext, true);
    assert.deepEqual((await pages.nextItems()).map(({ sandboxId }) => sandboxId), [made[0].sandboxId]);
    assert.equal(pages.hasNext, false);
    const one = await Sandbox.list({ query: { metadata: { mark, at: "n 1 &=" } } }).nextItems();
    assert.deepEqual(one.map(({ sandboxId }) => sandboxId), [made[1].sandboxId]);
    for (const each of made) assert.equal(await each.kill(), true);
    assert.equal(await made[0].kill(), false);
});

await test("e2b: a lease ends a sandbox, a longer one keeps it, and pausing stops it until somebody connects", async () => {
    const brief = await Sandbox.create({ timeoutMs: 1000 });
    const kept = await Sandbox.create({ timeoutMs: 2000, lifecycle: { onTimeout: "pause" } });
    await kept.files.write("still.txt", "here");
    await until("its end", async () => !(await brief.isRunning()));
    await assert.rejects(Sandbox.getInfo(brief.sandboxId));
    await until("its pause", async () => (await kept.getInfo()).state === "paused");
    const again = await Sandbox.connect(kept.sandboxId, { timeoutMs: 60_000 });
    assert.equal(await again.files.read("still.txt"), "here");
    assert.equal((await again.getInfo()).state, "running");
    assert.equal(await again.pause(), true);
    assert.equal(await again.pause(), false);
    await again.kill();
});

await test("e2b: a fork and a snapshot have the files of their moment", async () => {
    await box.files.write("state.txt", "before");
    const taken = await box.createSnapshot();
    const [fork] = await box.fork();
    await box.files.write("state.txt", "after");
    const from_snapshot = await Sandbox.create(taken.snapshotId);
    assert.deepEqual([await fork.files.read("state.txt"), await from_snapshot.files.read("state.txt")], ["before", "before"]);
    const listed = await Sandbox.listSnapshots({ sandboxId: box.sandboxId }).nextItems();
    assert.deepEqual(listed.map(({ snapshotId }) => snapshotId), [taken.snapshotId]);
    assert.deepEqual([await Sandbox.deleteSnapshot(taken.snapshotId), await Sandbox.deleteSnapshot(taken.snapshotId)], [true, false]);
    await fork.kill();
    await from_snapshot.kill();
});

await test("e2b: what a sandbox uses is told", async () => {
    const [now] = await box.getMetrics();
    assert.ok(now.cpuCount > 0 && now.memUsed > 0 && now.memUsed < now.memTotal && now.diskTotal > 0);
});

await test("e2b: code runs in contexts that keep variables, and results have their forms", async () => {
    const code = await CodeSandbox.connect(box.sandboxId);
    const heard = [];
    const done = await code.runCode("import sys\nprint('out')\nprint('err', file=sys.stderr)\nx = 6\nx * 7", { onStdout: ({ line }) => heard.push(line) });
    assert.deepEqual([done.text, done.logs, heard, done.error], ["42", { stdout: ["out\n"], stderr: ["err\n"] }, ["out\n"], undefined]);
    assert.equal((await code.runCode("x")).text, "6");
    const shown = await code.runCode("from IPython.display import HTML, display\ndisplay(HTML('<b>1</b>'))\n'text'");
    assert.deepEqual([shown.results[0].html, shown.results[1].text, shown.results[1].isMainResult], ["<b>1</b>", "text", true]);
    const failed = await code.runCode("1 / 0");
    assert.deepEqual([failed.error.name, failed.error.value], ["ZeroDivisionError", "division by zero"]);
    const other = await code.createCodeContext({ cwd: `${HOME}/other` });
    assert.equal((await code.runCode("import os\nos.getcwd()", { context: other })).text, `${HOME}/other`);
    assert.equal((await code.runCode("x", { context: other })).error.name, "NameError");
    assert.equal((await code.runCode("import os; os.environ['V']", { envs: { V: "1" } })).text, "1");
    assert.equal((await code.runCode("import os; os.environ.get('V')")).text, undefined);
    assert.equal((await code.runCode("echo $0", { language: "bash" })).logs.stdout.join("").includes("bash"), true);
    await code.removeCodeContext(other);
    const usual = await code.listCodeContexts();
    assert.deepEqual(usual.map(({ language, cwd }) => [language, cwd]).slice(0, 2), [["python", HOME], ["javascript", HOME]]);
    assert.ok(!usual.some(({ id }) => id === other.id));
});

await test("e2b: charts, tables and containers come as data", async () => {
    const code = await CodeSandbox.connect(box.sandboxId);
    const drawn = await code.runCode("import matplotlib.pyplot as plt\nplt.bar(['a', 'b'], [1, 2], label='n')\nplt.ylabel('size (cm)')\nplt.show()");
    const { chart, png } = drawn.results[0];
    assert.deepEqual([chart.type, chart.y_unit, chart.elements], ["bar", "cm", [{ label: "a", group: "n", value: 1 }, { label: "b", group: "n", value: 2 }]]);
    assert.ok(png);
    assert.deepEqual((await code.runCode("import pandas\npandas.DataFrame({'n': [1, None]})")).results[0].data, { n: [1, null] });
    assert.deepEqual((await code.runCode("{'a': [1]}")).results[0].json, { a: [1] });
    await code.runCode("from PIL import Image\npicture = Image.new('RGB', (2, 2))");
    assert.ok((await code.runCode("picture.save('p.png')")).results[0].png);
    assert.equal((await code.runCode("open('p.png', 'rb').read(4)[1:]")).text, "b'PNG'");
});

await test("e2b: JavaScript and TypeScript run in contexts of their own", async () => {
    const code = await CodeSandbox.create({ envs: { WHO: "all" } });
    const done = await code.runCode("import { readFileSync } from 'fs'\nconst x = 6; console.log(typeof readFileSync, process.env.WHO)\nx * 7", { language: "js", envs: { WHO: "one" } });
    assert.deepEqual([done.text, done.logs.stdout, done.error], ["42", ["function one\n"], undefined]);
    assert.equal((await code.runCode("`${x} ${process.env.WHO} ${process.cwd()}`", { language: "javascript" })).text, `6 all ${HOME}`);
    assert.equal((await code.runCode("x", { language: "python" })).error.name, "NameError");
    const failed = await code.runCode("null.x", { language: "js" });
    assert.equal(failed.error.name, "TypeError");
    await assert.rejects(code.runCode("while (true) {}", { language: "js", timeoutMs: 1000 }));
    assert.equal((await code.runCode("x + 1", { language: "js", timeoutMs: 20_000 })).text, "7");
    const other = await code.createCodeContext({ language: "js", cwd: `${HOME}/inner` });
    assert.equal((await code.runCode("`${process.cwd()} ${typeof x}`", { context: other })).text, `${HOME}/inner undefined`);
    const compiler = path.resolve(import.meta.dirname, "../node_modules/typescript");
    for (const name of ["package.json", "lib/typescript.js"]) await code.files.write(`node_modules/typescript/${name}`, new Blob([fs.readFileSync(path.join(compiler, name))]));
    assert.equal((await code.runCode("enum Size { big = 3 }\nconst size: number = Size.big\nsize", { language: "ts" })).text, "3");
    await assert.rejects(code.runCode("1", { language: "cobol", requestTimeoutMs: 5000 }));
    await code.kill();
});

await test("e2b: who waits for code of a sandbox that is deleted hears of it", async () => {
    const brief = await CodeSandbox.create();
    const running = brief.runCode("print('begun', flush=True)\nimport time; time.sleep(300)", { onStdout: () => void brief.kill(), timeoutMs: 100_000 });
    await assert.rejects(running, /killed/);
});

await test("e2b: a template is built of files, commands and variables, and sandboxes of it begin with its program", async () => {
    const context = temporary_folder();
    fs.mkdirSync(path.join(context, "site/inner"), { recursive: true });
    fs.writeFileSync(path.join(context, "site/index.html"), "of the template");
    fs.writeFileSync(path.join(context, "site/inner/deep.txt"), "deep");
    fs.writeFileSync(path.join(context, "one.txt"), "one");
    const told = [];
    const recipe = () => Template({ fileContextPath: context }).fromBaseImage().setEnvs({ FLAVOUR: "sour", COUNT: "2" }).copy("site", "/srv/site").copy("one.txt", "renamed.txt")
        .setWorkdir("/srv/site").runCmd('echo "$FLAVOUR by $(whoami) in $PWD" > made.txt').runCmd("echo marked > /etc/marked", { user: "root" })
        .setStartCmd("exec python3 -m http.server 8321", waitForPort(8321));
    const built = await Template.build(recipe(), "shop:v1", { onBuildLogs: ({ message }) => told.push(message) });
    assert.ok(told.some((line) => /RUN echo/.test(line)) && told.at(-1).length > 0);
    assert.equal(await Template.exists("shop"), true);
    const made = await Sandbox.create("shop:v1", { envs: { COUNT: "3" } });
    assert.equal((await by_host(made.getHost(8321), "/index.html")).text, "of the template");
    const seen = await made.commands.run("cat made.txt /etc/marked inner/deep.txt ~/renamed.txt; echo; echo $FLAVOUR $COUNT $PWD; stat -c %U made.txt inner");
    assert.equal(seen.stdout, "sour by user in /srv/site\nmarked\ndeepone\nsour 3 /srv/site\nuser\nuser\n");
    await made.pause();
    await Sandbox.connect(made.sandboxId);
    assert.equal((await by_host(made.getHost(8321), "/index.html")).text, "of the template");
    await made.kill();

    told.length = 0;
    const again = await Template.build(recipe().runCmd("echo more > more.txt"), "shop", { onBuildLogs: ({ message }) => told.push(message) });
    assert.equal(again.templateId, built.templateId);
    assert.ok(told.some((line) => /CACHED RUN echo marked/.test(line)) && told.some((line) => /\] RUN echo more/.test(line)), told.join("\n"));
    assert.deepEqual((await Template.getTags("shop")).map(({ tag }) => tag).sort(), ["default", "v1"]);
    await Template.assignTags("shop:v1", ["v1", "stable"]);
    const stable = await Sandbox.create("shop:stable");
    assert.equal((await stable.commands.run("ls more.txt || true")).stdout, "");
    await stable.kill();
    await Template.removeTags("shop", ["stable"]);
    await assert.rejects(Sandbox.create("shop:stable"), /not found/);
});

await test("e2b: a build that fails says where and why, and leaves nothing", async () => {
    const count = async () => (await (await fetch(`${server.url}/mcp/tools/list_sandboxes`, { method: "POST", headers: { authorization: `Bearer ${TOKENS.ann}`, "content-type": "application/json" }, body: "{}" })).json()).sandboxes.length;
    const before = await count();
    await assert.rejects(Template.build(Template().fromBaseImage().runCmd("echo so far").runCmd("ls /nowhere"), "broken"), /failed to run command 'ls \/nowhere': exit status 2/);
    await assert.rejects(Template.build(Template().fromBaseImage().runCmd("true", { user: "no-one" }), "broken"), /invalid username: 'no-one'/);
    await assert.rejects(Template.build(Template().fromTemplate("no-such-template"), "broken"), /not found/);
    await assert.rejects(Template.build(Template().fromImage("no-such.example/image:1"), "broken"), /not allowed/);
    assert.equal(await Template.exists("broken"), false);
    assert.equal(await count(), before);
});

await test("e2b: an older SDK works in the same way", async () => {
    const older = await OlderSandbox.create();
    await older.files.write("old.txt", "old");
    assert.equal((await older.commands.run("cat old.txt")).stdout, "old");
    assert.equal(await older.kill(), true);
});

await test("e2b: a stranger reaches nothing of another's sandbox", async () => {
    const strangers = { apiKey: key_of("bob") };
    await assert.rejects(Sandbox.connect(box.sandboxId, strangers));
    await assert.rejects(Sandbox.getInfo(box.sandboxId, strangers));
    await assert.rejects(Sandbox.setTimeout(box.sandboxId, 1, strangers));
    assert.equal(await Sandbox.kill(box.sandboxId, strangers), false);
    assert.deepEqual(await Sandbox.list(strangers).nextItems(), []);
    await assert.rejects(Sandbox.create({ apiKey: "e2b_00" }), /401|key/i);
    const own = await Sandbox.create(strangers);
    const token = own.envdAccessToken ?? own.connectionConfig?.envdAccessToken ?? "";
    const asked = [["GET", "/files?path=signed.txt"], ["GET", "/envs"], ["GET", "/metrics"], ["POST", "/init"], ["POST", "/process.Process/List"], ["POST", "/filesystem.Filesystem/ListDir"]];
    for (const [method, path] of asked)
        for (const headers of [{}, { "x-access-token": token }, { "x-access-token": "wrong" }, { authorization: `Bearer ${TOKENS.bob}` }]) {
            const answer = await fetch(server.url + path, {
                method, headers: { "content-type": "application/json", "e2b-sandbox-id": box.sandboxId, "e2b-sandbox-port": "49983", ...headers }, body: method === "POST" ? "{}" : undefined,
            });
            assert.ok([401, 404].includes(answer.status), `${method} ${path}: ${answer.status}`);
            assert.doesNotMatch(await answer.text(), /for you|pid/);
        }
    for (const path of ["/execute", "/contexts/../execute", "//execute"]) {
        const answer = await fetch(server.url + path, {
            method: "POST", headers: { "content-type": "application/json", "e2b-sandbox-id": box.sandboxId, "e2b-sandbox-port": "49999" }, body: '{"code": "print(\'for you\')"}',
        });
        assert.ok([401, 404].includes(answer.status), `${path}: ${answer.status}`);
        assert.doesNotMatch(await answer.text(), /for you/);
    }
    await own.kill();
});

await test("e2b: forty attempts of each of two principals at what the other has fail alike", async () => {
    const own = {};
    for (const name of ["ann", "bob"]) {
        const apiKey = key_of(name);
        const box = await CodeSandbox.create({ apiKey, metadata: { of: name } });
        const other = await box.createCodeContext();
        await box.runCode(`secret = 'secret of ${name}'`, { context: other });
        await box.files.write("secret.txt", `secret of ${name}`);
        await box.commands.run("cd ~; exec python3 -m http.server 8200", { background: true });
        const snapshot = await box.createSnapshot({ name: `kept-${name}` });
        const built = await Template.build(Template().fromBaseImage().runCmd(`echo secret of ${name} > s`), `tool-${name}`, { apiKey });
        own[name] = { apiKey, box, context: other.id, snapshot: snapshot.snapshotId, built, link: await box.downloadUrl("secret.txt") };
    }
    for (const [by, of] of [["ann", "bob"], ["bob", "ann"]]) {
        const { box, context, snapshot, built, link } = own[of], { apiKey } = own[by], id = box.sandboxId;
        const key = { "x-api-key": apiKey, "content-type": "application/json" };
        const control = [["GET", ""], ["DELETE", ""], ["POST", "/timeout", { timeout: 1 }], ["POST", "/refreshes", { duration: 1 }], ["POST", "/connect", { timeout: 9 }], ["POST", "/resume", { timeout: 9 }], ["POST", "/pause", {}],
            ["POST", "/fork", { count: 1, timeout: 9 }], ["POST", "/snapshots", {}], ["GET", "/metrics"], ["PUT", "/network", { allow_internet_access: true }]].map(([method, path, body]) => [method, `/sandboxes/${id}${path}`, key, body]);
        const tag = { target: `tool-${of}:default`, tags: ["mine"] };
        const templates = [["DELETE", `/templates/${built.templateId}`, key], ["DELETE", `/templates/tool-${of}`, key], ["DELETE", `/templates/${snapshot}`, key], ["GET", `/templates/tool-${of}/tags`, key], ["POST", "/templates/tags", key, tag],
            ["DELETE", "/templates/tags", key, { name: `tool-${of}`, tags: ["default"] }], ["GET", `/templates/${built.templateId}/builds/${built.buildId}/status`, key], ["POST", `/v2/templates/${built.templateId}/builds/${built.buildId}`, key, { steps: [] }],
            ["GET", `/templates/aliases/tool-${of}`, key], ["POST", "/v2/sandboxes", key, { templateID: `tool-${of}`, timeout: 9 }], ["POST", "/v2/sandboxes", key, { templateID: built.templateId, timeout: 9 }],
            ["POST", "/v2/sandboxes", key, { templateID: snapshot, timeout: 9 }], ["POST", "/v2/sandboxes", key, { templateID: `kept-${of}`, timeout: 9 }]];
        const tokens = [{}, { "x-access-token": own[by].box.envdAccessToken ?? "" }];
        const at = (port, path, method, body) => tokens.map((token) => [method, path, { "content-type": "application/json", "e2b-sandbox-id": id, "e2b-sandbox-port": String(port), ...token }, body]);
        const data = [...at(49983, "/files?path=secret.txt", "GET"), ...at(49983, "/files?path=/home/user/x", "POST", {}), ...at(49983, "/process.Process/List", "POST", {}), ...at(49983, "/process.Process/SendSignal", "POST", { process: { pid: 1 } }),
            ...at(49983, "/filesystem.Filesystem/Remove", "POST", { path: "secret.txt" }), ...at(49983, "/sudo", "POST", {}), ...at(49999, "/execute", "POST", { code: "secret", context_id: context }),
            ...at(49983, `/files${new URL(link).search.replace(/signature=[^&]*/, "signature=v1_x")}`, "GET")];
        const attempts = [...control, ...templates, ...data];
        assert.ok(attempts.length >= 40);
        for (const [method, path, headers, body] of attempts) {
            const answer = await fetch(server.url + path, { method, headers, body: body && JSON.stringify(body) });
            const text = await answer.text();
            assert.ok([400, 401, 404].includes(answer.status), `${by} at ${of}: ${method} ${path}: ${answer.status} ${text.slice(0, 200)}`);
            assert.doesNotMatch(text, new RegExp(`secret of ${of}`));
        }
        assert.equal((await Sandbox.list({ apiKey }).nextItems()).filter(({ sandboxId }) => sandboxId === id).length, 0);
        assert.equal((await Sandbox.listSnapshots({ apiKey }).nextItems()).filter(({ snapshotId }) => snapshotId === snapshot).length, 0);
        assert.equal(await box.files.read("secret.txt"), `secret of ${of}`);
        assert.equal(await Template.exists(`tool-${of}`, { apiKey: own[of].apiKey }), true);
    }
    for (const { box } of Object.values(own)) await box.kill();
});

await test("e2b: a program that takes the daemon's place harms its own sandbox alone", async () => {
    const hostile = await Sandbox.create({ secure: true });
    await hostile.files.write("liar.py", `
import socket, threading
door = socket.socket(); door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
while True:
    try: door.bind(('127.0.0.1', 49983)); break
    except OSError: pass
door.listen(100)
answers = [b'HTTP/1.1 200 OK\\r\\nContent-Length: 99999999999999999999\\r\\n\\r\\n', b'\\0' * 100000, b'HTTP/1.1 200 OK\\r\\n' + b'A: ' + b'b' * 1000000, b'', b'HTTP/1.1 301 Moved\\r\\nLocation: http://169.254.169.254/\\r\\nSet-Cookie: a=b; Domain=e2b.test\\r\\nContent-Length: 0\\r\\n\\r\\n']
def serve(peer, answer):
    try: peer.recv(65536); peer.sendall(answer)
    except OSError: pass
    peer.close()
for number in range(1000000):
    peer, _ = door.accept()
    threading.Thread(target=serve, args=(peer, answers[number % len(answers)]), daemon=True).start()
`);
    await hostile.commands.run("(setsid nohup python3 liar.py > /dev/null 2>&1 &) ; sudo pkill -KILL -f /proc/self/fd/0", { timeoutMs: 3000 }).catch(() => {});
    for (let at = 0; at < 15; at++) {
        const answer = await fetch(`${server.url}/files?path=x`, {
            redirect: "manual", headers: { "e2b-sandbox-id": hostile.sandboxId, "e2b-sandbox-port": "49983", "x-access-token": hostile.envdAccessToken ?? "" }, signal: AbortSignal.timeout(5000),
        }).catch(() => null);
        if (answer) {
            assert.equal(answer.headers.get("set-cookie"), null);
            await answer.arrayBuffer().catch(() => null);
        }
    }
    assert.equal((await box.commands.run("echo unharmed")).stdout, "unharmed\n");
    assert.equal(await hostile.kill(), true);
});

await box.kill();
await test("e2b: the server ends in good order", () => server.stop());
