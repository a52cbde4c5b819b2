// Servers of a cluster keep their sandboxes in object storage, so that others have them when a server is gone: killed, held up, or
// restarted. The storage verifies signatures by a library of its own.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { caller, progress, reply } from "../lib/caller.mjs";
import { node_of, start_cluster } from "../lib/cluster.mjs";
import { start_rig } from "../lib/cluster_rig.mjs";
import { start_object_storage } from "../lib/object_storage.mjs";
import { pause, test, until } from "../lib/report.mjs";
import { environment, program, start_server, temporary_folder } from "../lib/server.mjs";
import { open_shell } from "../lib/shell_socket.mjs";

const storage = await start_object_storage();
const settings = { ...storage.settings("cluster"), SNAPSHOT_KEY: randomBytes(32).toString("hex"), SANDBOX_SNAPSHOT_EVERY: "1", MCP_DRAIN_NOTICE: "1" };
const { cluster, ann, names, at, another, third, boxes, stop } = await start_rig(settings);

const manifests = (handle) => [...storage.objects.keys()].filter((key) => key.startsWith(`cluster/manifests/${handle}/`));
const objects_of = (handle) => [...storage.objects.keys()].filter((key) => key.includes(handle));
const stamp = (handle) => manifests(handle).map((key) => storage.objects.get(key).etag).join();

/// What was done before this call is in the storage. The first snapshot that is ready may have begun before it.
async function kept(name) {
    for (let i = 0; i < 2; ++i) {
        const before = stamp(boxes[name]);
        await at(name).run(boxes[name], "date +%N > .touched");
        await until(`the sandbox of ${name} is kept`, () => stamp(boxes[name]) !== before);
    }
}

async function answer_of(name, handle, command) {
    const { status, value } = await at(name).rest("execute_terminal_command", { sandbox_id: handle, command });
    assert.equal(status, 200, JSON.stringify(value));
    return value;
}

await test("snapshots: a sandbox that is used is kept, and nobody reads it in the storage", async () => {
    await at("n1").run(boxes.n1, "echo very-secret-words > secret.txt; mkdir -p 'a b/c'; ln -s ../secret.txt 'a b/link'; chmod 750 secret.txt");
    await at("n1").call("snapshot_sandbox", { sandbox_id: boxes.n1, name: "before" });
    await at("n1").call("execute_python_code", { sandbox_id: boxes.n1, code: "answer = 41 + 1", stateful: true });
    for (const name of names) await kept(name);
    for (const [key, { bytes }] of storage.objects) assert(!bytes.includes("very-secret-words") && !bytes.includes("before"), key);
});

await test("snapshots: the second one of a large file that changed in one place has few new bytes", async () => {
    await at("n2").run(boxes.n2, "head -c 20000000 /dev/urandom > large");
    await kept("n2");
    const before = new Map(storage.objects);
    await at("n2").run(boxes.n2, "printf x | dd of=large bs=1 seek=10000000 conv=notrunc 2> /dev/null");
    await kept("n2");
    const fresh = [...storage.objects].filter(([key, { etag }]) => before.get(key)?.etag !== etag && key.includes(boxes.n2));
    const bytes = fresh.reduce((sum, [, object]) => sum + object.bytes.length, 0);
    assert(bytes < 12_000_000, `${bytes} bytes in ${fresh.length} objects`);
});

await test("snapshots: the sandbox of a server that is killed answers at another, under the same handle", async () => {
    const begun = performance.now();
    const gone = cluster.node("n1").kill();
    const value = await answer_of("n2", boxes.n1, "cat whose 'a b/link'; stat -c %a secret.txt");
    const seconds = (performance.now() - begun) / 1000;
    console.log(`# a killed server's sandbox answered elsewhere after ${seconds.toFixed(1)} s`);
    await gone;
    assert.equal(value.stdout, "n1\nvery-secret-words\n750\n");
    assert.match(value.note, /The server n1 that had the sandbox is gone.*later changes are lost/);
    assert.equal((await answer_of("n3", boxes.n1, "cat whose")).note, undefined);
});

await test("snapshots: its variables, its named snapshots and its files by HTTP are there, through each server", async () => {
    const { output, result } = await at("n3").call("execute_python_code", { sandbox_id: boxes.n1, code: "answer", stateful: true });
    assert.equal(`${result ?? output}`.trim(), "42");
    const list = await at("n2").call("snapshot_sandbox", { sandbox_id: boxes.n1, action: "list" });
    assert.deepEqual(list.snapshots.map(({ name }) => name), ["before"]);
    await at("n3").run(boxes.n1, "echo other > secret.txt");
    await at("n3").call("restore_sandbox", { sandbox_id: boxes.n1, snapshot: "before" });
    for (const name of ["n2", "n3"]) {
        const file = await at(name).get(`/sandbox/file?sandbox_id=${boxes.n1}&file_path=secret.txt`);
        assert.equal(await file.text(), "very-secret-words\n");
    }
    assert.equal((await at("n3").call("list_sandboxes")).sandboxes.filter(({ sandbox_id }) => sandbox_id === boxes.n1).length, 1);
});

await test("snapshots: a server that is back gives up what another has, passes its calls on, and keeps its copy aside", async () => {
    await at("n3").run(boxes.n1, "echo at-n3 > newest");
    await cluster.node("n1").start();
    await until("n1 is in touch", async () => (await at("n1").get("/healthz")).status === 200);
    for (const name of names) assert.equal(await at(name).run(boxes.n1, "cat newest"), "at-n3\n");
    const { sandboxes } = await at("n1").call("list_sandboxes");
    assert.equal(sandboxes.filter(({ sandbox_id }) => sandbox_id === boxes.n1).length, 1);
    const aside = fs.readdirSync(path.join(cluster.node("n1").folder, "data", "sandboxes", ".superseded"));
    assert(aside.some((name) => name.startsWith(boxes.n1)), aside.join());
});

await test("snapshots: a server that is held up serves its sandboxes no more once another has them", async () => {
    await kept("n3");
    const taken_over = async () => {
        for (;;) {
            const { status, value } = await at("n2").rest("execute_terminal_command", { sandbox_id: boxes.n3, command: "cat whose; echo by n2 > whose" });
            // What was sent to n3 over a connection from before may have run there.
            if (status === 502 && value.may_have_run) continue;
            assert.equal(status, 200, JSON.stringify(value));
            return value;
        }
    };
    let first;
    await cluster.node("n3").held_up(async () => {
        assert.match((await taken_over()).note, /The server n3 that had the sandbox is gone/);
        // What n3 hears first is a call for it, before it has heard of anything else.
        first = at("n3").rest("execute_terminal_command", { sandbox_id: boxes.n3, command: "cat whose" });
    });
    const { value } = await first;
    assert(value.error_type === "NodeCutOff" || value.stdout === "by n2\n", JSON.stringify(value));
    await until("n3 passes calls on", async () => (await at("n3").rest("execute_terminal_command", { sandbox_id: boxes.n3, command: "cat whose" })).value.stdout === "by n2\n");
});

// ---------------------------------------------------------------- default sandboxes
const ready = (name) => until(`${name} is ready`, async () => (await fetch(`${cluster.node(name).url}/healthz`)).status === 200);
const home_of = (all, caller_folder, file) => all.nodes.find((node) => fs.existsSync(path.join(node.folder, "data", caller_folder, "workspace", file)))?.name;
const home = () => home_of(cluster, "callers/ann", "notes/a.txt");
const write = (name, file_path, content) => at(name).call("file_write", { path: file_path, content });
const read = async (name, file_path) => (await at(name).call("file_read", { path: file_path })).content;
const defaults_of = (prefix) => [...new Set([...storage.objects.keys()].filter((key) => key.startsWith(`${prefix}/manifests/sbx_home_`)).map((key) => key.split("/")[2]))];
const default_stamp = (handle) => [...storage.objects].filter(([key]) => key.includes(`/manifests/${handle}/`)).map(([, { etag }]) => etag).join();
const asides = (name) => fs.readdirSync(path.join(cluster.node(name).folder, "data", "sandboxes", ".superseded")).filter((entry) => entry.startsWith("sbx_home_"));

await test("snapshots: a caller's default sandbox is kept, and nobody reads names or files in the storage", async () => {
    await write("n1", "notes/a.txt", "very-secret-notes\n");
    await at("n2").call("system_run_command", { command: "mkdir -p run; echo by-a-run > run/b; chmod 750 run/b; ln -s ../run/b notes/link" });
    await until("it is kept", () => defaults_of("cluster").length === 1 && default_stamp(defaults_of("cluster")[0]) !== "");
    const before = default_stamp(defaults_of("cluster")[0]);
    await write("n3", "notes/more.txt", "x");
    await until("a change is kept", () => default_stamp(defaults_of("cluster")[0]) !== before);
    for (const [key, { bytes }] of storage.objects) assert(!key.includes("ann") && !bytes.includes("very-secret-notes"), key);
});

await test("snapshots: the default sandbox of a server that is killed is at another one, with its files and a word on what is lost", async () => {
    const first = home(), by = another(first);
    const { output_path } = await at(by).call("system_run_python", { code: "print('long ' * 20000)", max_output: 100 });
    const begun = performance.now();
    const gone = cluster.node(first).kill();
    assert.equal(await read(by, "notes/a.txt"), "very-secret-notes\n");
    console.log(`# a killed server's default sandbox answered elsewhere after ${((performance.now() - begun) / 1000).toFixed(1)} s`);
    await gone;
    const { stdout, note } = await at(third(first)).call("system_run_command", { command: "cat notes/link; stat -c %a run/b" });
    assert.equal(stdout, "by-a-run\n750\n");
    assert.match(note, new RegExp(`The server ${first} that had the sandbox is gone.*as it was kept at 20.*later changes are lost`));
    assert.equal((await at(by).call("system_run_command", { command: "true" })).note, undefined);
    await write(by, "notes/newest.txt", "of the new home\n");

    await cluster.node(first).start();
    await ready(first);
    for (const name of names) assert.equal(await read(name, "notes/newest.txt"), "of the new home\n");
    assert.notEqual(home(), first);
    assert.equal(asides(first).length, 1, "its own copy is not aside");
    assert.match((await at(by).call("file_read", { path: output_path })).content, /^long long/, "a long output went with the sandbox");
});

await test("snapshots: a server that is held up serves a default sandbox no more once another has it", async () => {
    const first = home(), by = another(first);
    await write(first, "notes/held.txt", "before\n");
    const before = default_stamp(defaults_of("cluster")[0]);
    await until("it is kept", () => default_stamp(defaults_of("cluster")[0]) !== before);
    const run = at(first).tool("system_run_command", { command: "echo begun; sleep 1000", timeout: 110 });
    await until("a run goes on", () => progress(run) === "begun\n");
    const { job_id } = await at(first).call("execute_terminal_command", { command: "sleep 1000", run_in_background: true });
    let call;
    await cluster.node(first).held_up(async () => {
        await until("another has it", async () => (await at(by).rest("file_write", { path: "notes/held.txt", content: "by another\n" })).status === 200);
        call = at(first).rest("file_read", { path: "notes/held.txt" });
    });
    const { value } = await call;
    assert(["NodeCutOff", "NodeUnreachable"].includes(value.error_type) || value.content === "by another\n", JSON.stringify(value));
    const ended = await reply(run);
    assert.equal(ended.result.isError, true, JSON.stringify(ended));
    assert.notEqual(ended.result.structuredContent?.cause, "timeout", JSON.stringify(ended));
    await until("calls are passed on", async () => (await at(first).rest("file_read", { path: "notes/held.txt" })).value.content === "by another\n");
    await ready(first);
    const job = await at(first).call("job_poll", { job_id, until: "end", wait: 60 });
    assert(job.state !== "running" && job.result?.exit_code !== 0, JSON.stringify(job));
});

await test("snapshots: a rolling restart of all servers under load fails no call and loses no file", async () => {
    const handles = Object.values(boxes);
    const failures = [];
    let calls = 0, goes_on = true, place = 0;
    const worker = async (handle) => {
        for (let i = 0; goes_on; ++i) {
            const servers = cluster.nodes.filter(({ runs, ready }) => runs && ready !== false);
            const server = servers[place++ % servers.length];
            ++calls;
            try {
                const { status, value } = await new caller(server.url, ann.token).rest("execute_terminal_command", { sandbox_id: handle, command: `echo ${i} >> log; wc -l < log` });
                if (status !== 200 || value.exit_code !== 0 || Number(value.stdout) !== i + 1) failures.push(`${server.name}: ${status} ${i} ${JSON.stringify(value).slice(0, 300)}`);
                if (status === 200) i = Number(value.stdout) - 1;
            } catch (problem) {
                failures.push(`${server.name}: ${problem.cause ?? problem}`);
            }
        }
    };
    const all_ready = () => Promise.all(cluster.nodes.map((node) => until(`${node.name} is ready`, async () => (await fetch(`${node.url}/healthz`)).status === 200)));
    await all_ready();      // as whoever restarts servers waits for them
    for (const handle of handles) await at("n1").run(handle, "rm -f log");
    await write("n1", "log.txt", "");
    const counts = () => Promise.all(handles.map(async (handle) => Number(await at("n1").run(handle, "wc -l < log"))));
    const in_default = async () => {
        for (let i = 0; goes_on; ++i) {
            const servers = cluster.nodes.filter(({ runs, ready }) => runs && ready !== false);
            const server = servers[place++ % servers.length];
            const { status, value } = await new caller(server.url, ann.token).rest("system_run_command", { command: `echo ${i} >> log.txt; wc -l < log.txt` });
            if (status !== 200 || Number(value.stdout) !== i + 1) failures.push(`${server.name}: default ${status} ${i} ${JSON.stringify(value).slice(0, 300)}`);
            if (status === 200) i = Number(value.stdout) - 1;
        }
    };
    const workers = [...handles.map(worker), in_default()];
    for (const node of cluster.nodes) {
        node.ready = false;     // as a balancer takes it out
        await node.stop({ keep: true });
        await node.start();
        await all_ready();
        node.ready = true;
    }
    goes_on = false;
    await Promise.all(workers);
    console.log(`# ${calls} calls during a rolling restart, ${failures.length} failed`);
    assert.deepEqual(failures, []);
    assert.equal((await counts()).reduce((a, b) => a + b), calls, "lines are lost");
});

await test("snapshots: servers that end again and again, asked through another one all the time, fail no call and lose no line", async () => {
    const failures = [];
    let calls = 0;
    for (let round = 0; round < 6; ++round) {
        const node = cluster.node(round % 2 ? "n2" : "n3");
        const handles = [];
        while (handles.length < 4) {
            const { sandbox_id } = await at(node.name).call("create_sandbox");
            if (node_of(sandbox_id) === node.name) handles.push(sandbox_id);
            else await at(node.name).call("delete_sandbox", { sandbox_id });
        }
        let goes_on = true;
        const written = new Map(handles.map((handle) => [handle, 0]));
        const clients = [...handles, ...handles].map(async (sandbox_id) => {        // two for each, so that connections wait and are used
            for (; goes_on; ++calls) {
                const { status, value } = await at("n1").rest("execute_terminal_command", { sandbox_id, command: "echo line >> log" });
                if (status !== 200 || value.exit_code !== 0) failures.push(`${node.name}: ${status} ${JSON.stringify(value).slice(0, 300)}`);
                else written.set(sandbox_id, written.get(sandbox_id) + 1);
            }
        });
        const before = calls;
        await until("calls go on", () => calls > before + 40);
        await node.stop({ keep: true });
        await node.start();
        await ready(node.name);
        goes_on = false;
        await Promise.all(clients);
        for (const handle of handles) {
            assert.equal(Number(await at("n1").run(handle, "wc -l < log")), written.get(handle), "lines are lost");
            await at("n1").call("delete_sandbox", { sandbox_id: handle });
        }
    }
    console.log(`# ${calls} calls while six servers ended, ${failures.length} failed`);
    assert.deepEqual(failures, []);
});

await test("snapshots: a terminal finds its sandbox after its server was lost", async () => {
    const owner = names.find((name) => name !== "n2");
    const fresh = (await at(owner).call("create_sandbox")).sandbox_id;
    await at(owner).run(fresh, "echo of a terminal > file");
    await until("it is kept", () => manifests(fresh).length > 0);
    const node = cluster.node(fresh.split("_")[1]);
    await node.stop({ keep: true });
    const shell = await open_shell(cluster.node(another(node.name)).url, fresh, ann.headers);
    shell.type("cat file\n");
    await shell.until("of a terminal");
    shell.close();
    await node.start();
    await until(`${node.name} is ready`, async () => (await fetch(`${node.url}/healthz`)).status === 200);
    await until("it is deleted", async () => (await at(node.name).rest("delete_sandbox", { sandbox_id: fresh })).status === 200);
    await until("nothing of it is kept", () => objects_of(fresh).length === 0);
});

// ---------------------------------------------------------------- moves
const command = (name, ...words) => promisify(execFile)(program, words, { env: environment(cluster.node(name).folder) });

await test("snapshots: an administrator moves a sandbox to a server, calls that come meanwhile wait, and what goes on keeps it", async () => {
    const owner = (await at("n1").call("create_sandbox", { name: "mover" })).sandbox_id;
    const from = node_of(owner), to = another(from);
    await at(from).run(owner, "head -c 3000000 /dev/urandom > large; echo 0 > count");
    const busy = at(third(from)).tool("execute_terminal_command", { sandbox_id: owner, command: "echo begun; until [ -e go ]; do sleep 0.05; done" });
    await until("a run goes on", () => progress(busy) === "begun\n");
    await assert.rejects(command(from, "cluster", "move", "mover", to), ({ stderr }) => /goes on in the sandbox.*wait for its end/.test(stderr));
    await at(from).run(owner, "touch go");
    await reply(busy);
    let goes_on = true;
    const failures = [];
    // A machine without time for three servers has them cut off now and then, which is no matter of moves.
    const note = (name, problem) => void (problem.includes("NodeCutOff") || failures.push(`${name}: ${problem}`));
    const calls = names.map(async (name) => {
        for (let i = 0; goes_on; ++i) {
            const { status, value } = await at(name).rest("execute_terminal_command", { sandbox_id: owner, command: `echo ${name} >> log` });
            if (status !== 200 || value.exit_code !== 0) note(name, JSON.stringify(value));
            const file = await at(name).get(`/sandbox/file?sandbox_id=${owner}&file_path=count`);
            const text = await file.text();
            if (text !== "0\n") note(name, `a file: ${file.status} ${text}`);
            const sent = await fetch(`${cluster.node(name).url}/sandbox/file?sandbox_id=${owner}&file_path=of-${name}`, { method: "POST", headers: { Authorization: `Bearer ${ann.token}`, "Content-Type": "application/octet-stream" }, body: "x".repeat(300_000) });
            if (sent.status !== 200) note(name, `an upload: ${sent.status} ${await sent.text()}`);
        }
    });
    let moved;      // as soon as no call is under way
    await until("it moves", async () => (moved = await command(from, "cluster", "move", owner, to).catch(() => undefined)) !== undefined);
    assert.equal(moved.stdout, `${owner} is at ${to} now\n`);
    goes_on = false;
    await Promise.all(calls);
    assert.deepEqual(failures, []);
    assert(fs.existsSync(path.join(cluster.node(to).folder, "data", "sandboxes", owner)));
    assert(!fs.existsSync(path.join(cluster.node(from).folder, "data", "sandboxes", owner)));
    await assert.rejects(command(from, "cluster", "move", owner, "n9"), ({ stderr }) => /No other server of the name n9/.test(stderr));
});

await test("snapshots: an administrator moves a default sandbox when no call goes on in it, and calls that come meanwhile wait", async () => {
    const from = home(), to = another(from), [handle] = defaults_of("cluster");
    const busy = at(to).tool("system_run_command", { command: "echo begun; until [ -e go.txt ]; do sleep 0.05; done" });
    await until("a run goes on", () => progress(busy) === "begun\n");
    await assert.rejects(command(from, "cluster", "move", handle, to), ({ stderr }) => /goes on in the sandbox/.test(stderr));
    await write(third(from), "go.txt", "");
    await reply(busy);
    await write(third(from), "notes/last.txt", "just now\n");
    let goes_on = true;
    const failures = [];
    const readers = names.map(async (name) => {
        while (goes_on) {
            const { status, value } = await at(name).rest("file_read", { path: "notes/last.txt" });
            if (status !== 200 && value.error_type !== "NodeCutOff") failures.push(`${name}: ${status} ${JSON.stringify(value)}`);
            await pause(50);      // it moves between two calls
        }
    });
    let moved;
    try {
        await until("it moves", async () => (moved = await command(from, "cluster", "move", handle, to).catch(() => undefined)) !== undefined);
    } finally {
        goes_on = false;
    }
    assert.equal(moved.stdout, `${handle} is at ${to} now\n`);
    await Promise.all(readers);
    assert.deepEqual(failures, []);
    assert.equal(home(), to);
});

await test("snapshots: sandboxes that were brought and are deleted one after the other do not come back", async () => {
    const handles = await Promise.all(Array.from({ length: 5 }, async () => (await at("n1").call("create_sandbox")).sandbox_id));
    for (const id of handles) await command("n1", "cluster", "move", id, "n2");
    const ends = await Promise.all(handles.map(async (sandbox_id) => {
        await at("n2").call("delete_sandbox", { sandbox_id });
        return (await at("n2").rest("execute_terminal_command", { sandbox_id, command: "true" })).value.error_type;
    }));
    assert.deepEqual([...new Set(ends)], ["NotFound"]);
    await until("nothing of them is kept", () => handles.every((id) => objects_of(id).length === 0));
    const ids = (await at("n1").call("list_sandboxes")).sandboxes.map(({ sandbox_id }) => sandbox_id);
    assert(!ids.some((id) => handles.includes(id)), ids.join());
});

await test("snapshots: files and shells are found through a server that knows the place of before", async () => {
    const box = (await at("n1").call("create_sandbox")).sandbox_id;
    const first = node_of(box), second = another(first), by = third(first);
    const address = (file) => `${cluster.node(by).url}/sandbox/file?sandbox_id=${box}&file_path=${file}`;
    const ways = {
        download: async () => assert.equal(await (await at(by).get(`/sandbox/file?sandbox_id=${box}&file_path=a`)).text(), "of before\n"),
        upload: async () => {
            const sent = await fetch(address("b"), { method: "POST", headers: { ...ann.headers, "Content-Type": "application/octet-stream" }, body: "x".repeat(2_000_000) });
            assert.equal(sent.status, 200, await sent.text());
        },
        shell: async () => {
            const shell = await open_shell(cluster.node(by).url, box, ann.headers);
            shell.type("cat a; wc -c < b\n");
            await shell.until("of before");
            await shell.until("2000000");
            shell.close();
        },
        absent: async () => assert.equal((await at(by).get(`/sandbox/file?sandbox_id=${box}&file_path=absent`)).status, 404),
    };
    let place = first;
    for (const [name, way] of Object.entries(ways)) {
        await at(by).run(box, "[ -e a ] || echo of before > a");
        const next = place === first ? second : first;
        await until(`it moves before the ${name}`, () => command(place, "cluster", "move", box, next).then(() => true, () => false));
        place = next;
        await way();
    }
    await at(by).call("delete_sandbox", { sandbox_id: box });
    await until("it is nowhere", async () => (await at(by).get(`/sandbox/file?sandbox_id=${box}&file_path=a`)).status === 404);
});

await test("snapshots: a server that is drained gives all away, says so, and takes sandboxes again when it is told", async () => {
    await at("n2").call("create_sandbox");
    if (home() !== "n2") await command(home(), "cluster", "move", defaults_of("cluster")[0], "n2");
    const { stdout } = await command("n1", "cluster", "drain", "--wait", "--node", "n2");
    assert.match(stdout, /takes nothing new, and has 0 sandboxes\./);
    assert.notEqual(home(), "n2");
    assert.equal(await read("n2", "notes/last.txt"), "just now\n");
    assert.equal((await at("n2").get("/healthz")).status, 503);
    const ids = (await at("n1").call("list_sandboxes")).sandboxes.map(({ sandbox_id }) => sandbox_id);
    for (const id of ids) {
        assert(!fs.existsSync(path.join(cluster.node("n2").folder, "data", "sandboxes", id)), id);
        assert.equal(await at("n2").run(id, "echo works"), "works\n");
    }
    await command("n2", "cluster", "undrain");
    await until("n2 is ready", async () => (await at("n2").get("/healthz")).status === 200);
});

await test("snapshots: while the storage is away, all sandboxes work, and what changed is kept afterwards", async () => {
    const works = async (name, tool, args) => {
        let last;
        const ends_well = async () => (last = await at(name).rest(tool, args)).status === 200;
        await until(`${tool} works`, ends_well).catch(({ message }) => assert.fail(`${message}; last: ${JSON.stringify(last)}`));
    };
    const before = [];
    await storage.stop();
    try {
        for (const name of names) await works(name, "execute_terminal_command", { sandbox_id: boxes[another(name)], command: "echo away > state; cat state" });
        const doomed = (await at("n2").call("create_sandbox")).sandbox_id;
        await works("n2", "delete_sandbox", { sandbox_id: doomed });
        await works("n1", "file_write", { path: "notes/away.txt", content: "written while it was away\n" });
        before.push(...names.map((name) => stamp(boxes[name])));
    } finally {
        await storage.start();
    }
    await until("all is kept", () => names.every((name, i) => stamp(boxes[name]) !== before[i]));
}, 240_000);      // each step has patience of its own

await test("snapshots: all servers stop, and leave nothing", stop);

// ---------------------------------------------------------------- two servers, callers without names
const two = await start_cluster({ names: ["m1", "m2"], settings: { ...storage.settings("two"), SNAPSHOT_KEY: randomBytes(32).toString("hex"), SANDBOX_SNAPSHOT_EVERY: "1", BASH_ALLOWED_COMMANDS: "*" } });
const of_two = (name) => new caller(two.node(name).url);
const other_of_two = (name) => (name === "m1" ? "m2" : "m1");

await test("snapshots: of two servers one takes the default sandbox of the other that was killed, and at once when that has stopped", async () => {
    await of_two("m1").call("file_write", { path: "shared.txt", content: "by nobody\n" });
    await until("it is kept", () => defaults_of("two").some((handle) => default_stamp(handle) !== ""));
    const first = home_of(two, ".", "shared.txt"), second = other_of_two(first);
    await two.node(first).kill();
    await until("the other one has it", async () => (await of_two(second).rest("file_read", { path: "shared.txt" })).value.content === "by nobody\n");
    await two.node(first).start();
    assert.equal((await of_two(first).call("file_read", { path: "shared.txt" })).content, "by nobody\n");
    await of_two(first).call("file_write", { path: "shared.txt", content: "the last word\n" });
    await two.node(second).stop({ keep: true });
    const { stdout, note } = await of_two(first).call("system_run_command", { command: "cat shared.txt" });
    assert.equal(stdout, "the last word\n");
    assert.match(note, /The sandbox has moved to another server: its files are all there/);
    await two.node(second).start();
    await of_two(first).call("file_write", { path: "shared.txt", content: "elsewhere\n" });
    await until("calls are passed on", async () => (await of_two(second).rest("file_read", { path: "shared.txt" })).value.content === "elsewhere\n");
});

await test("snapshots: a server that starts while the storage is away knows what has moved, says so of what it cannot bring, and brings it afterwards", async () => {
    const first = home_of(two, ".", "shared.txt"), second = other_of_two(first);
    const box = (await of_two(second).call("create_sandbox")).sandbox_id;
    await of_two(second).run(box, "echo moved > file");
    await two.node(second).stop({ keep: true });
    const at_server = (name) => of_two(name).rest("execute_terminal_command", { sandbox_id: box, command: "cat file" });
    await until("it has moved", async () => (await at_server(first)).value.stdout === "moved\n");
    storage.clockSkew = 3_600_000;      // it refuses all, and at once
    const place = (name) => `${two.node(name).url}/sandbox/file?sandbox_id=${box}&file_path=file`;
    try {
        await two.node(second).start();
        assert.equal((await at_server(second)).value.stdout, "moved\n");
        await two.node(first).kill();
        let answer;
        await until("the storage is asked", async () => (answer = await at_server(second)).value.error_type === "SnapshotStoreError");
        assert.deepEqual([answer.status, answer.headers.get("retry-after")], [503, "5"]);
        const file = await fetch(place(second));
        assert.deepEqual([file.status, (await file.json()).error_type, file.headers.get("retry-after")], [503, "SnapshotStoreError", "5"]);
    } finally {
        storage.clockSkew = 0;
    }
    await until("it is brought", async () => (await fetch(place(second))).status === 200);
    assert.equal(await of_two(second).run(box, "cat file"), "moved\n");
    const unknown = box.replace(/.{8}$/, "00000000");
    await until("nobody has another one", async () => (await fetch(place(second).replace(box, unknown))).status === 404);
    await two.node(first).start();
    assert.equal((await at_server(first)).value.stdout, "moved\n");
});

await test("snapshots: the two servers stop, and leave nothing", () => two.stop());

// ---------------------------------------------------------------- a server alone
const alone = { ...storage.settings("alone"), SNAPSHOT_KEY: randomBytes(32).toString("hex"), SANDBOX_NODE: "single", MCP_AUTH_TOKENS: `ann=${ann.token}` };
const folder = temporary_folder();

await test("snapshots: a server whose disk was lost brings its sandboxes back, but none that was deleted", async () => {
    const first = await start_server({ settings: alone, folder });
    const user = new caller(first.url, ann.token);
    const { sandbox_id } = await user.call("create_sandbox", { name: "survivor" });
    const { sandbox_id: doomed } = await user.call("create_sandbox", { name: "doomed" });
    await user.call("file_write", { path: "notes.txt", content: "of the default sandbox\n" });
    for (const id of [sandbox_id, doomed]) {
        await user.run(id, "echo still here > file");
        assert.equal((await user.call("pause_sandbox", { sandbox_id: id })).kept_elsewhere, true);
    }
    await user.call("delete_sandbox", { sandbox_id: doomed });
    await first.stop();     // and its folder is gone
    fs.mkdirSync(folder);
    const second = await start_server({ settings: alone, folder });
    const again = user.at(second.url);
    await until("it is back", async () => (await again.call("list_sandboxes")).sandboxes.length === 1);
    assert.equal(await again.run("survivor", "cat file"), "still here\n");
    assert.equal((await again.call("file_read", { path: "notes.txt" })).content, "of the default sandbox\n");
    await until("the other is forgotten", () => objects_of(doomed).length === 0);
    await second.stop();
});

await test("snapshots: files of a default sandbox from before there was a storage are kept when their server starts", async () => {
    const before = temporary_folder();
    const without = { SANDBOX_NODE: alone.SANDBOX_NODE, MCP_AUTH_TOKENS: alone.MCP_AUTH_TOKENS };
    const first = await start_server({ settings: without, folder: before });
    await new caller(first.url, ann.token).call("file_write", { path: "old.txt", content: "of before\n" });
    await first.stop({ keep: true });
    const second = await start_server({ settings: { ...alone, ...storage.settings("before") }, folder: before });
    await until("it is kept", () => defaults_of("before").some((handle) => default_stamp(handle) !== ""));
    assert.equal((await new caller(second.url, ann.token).call("file_read", { path: "old.txt" })).content, "of before\n");
    await second.stop();
});

await test("snapshots: what is older than the storage, from a backup or an image of the machine, is replaced by what was kept, and what is newer stays", async () => {
    const of = { ...alone, ...storage.settings("older"), SANDBOX_SNAPSHOT_EVERY: "3600" };
    const ours = temporary_folder(), aside = temporary_folder();
    const command = (...words) => promisify(execFile)(program, words, { cwd: ours, env: environment(ours, of) });
    const copy = (from, to) => (fs.rmSync(to, { recursive: true, force: true }), fs.cpSync(from, to, { recursive: true, verbatimSymlinks: true }));
    const during = async (work) => {
        const server = await start_server({ settings: of, folder: ours });
        const user = new caller(server.url, ann.token);
        const seen = await work(user);
        await server.stop({ keep: true });
        return seen;
    };
    const write = (day) => async (user) => {
        await user.run("days", `echo ${day} > day`);
        assert.equal((await user.call("pause_sandbox", { sandbox_id: "days" })).kept_elsewhere, true);
    };
    await during((user) => user.call("create_sandbox", { name: "days" }));
    const data = path.join(ours, "data"), image = path.join(aside, "data"), archive = path.join(aside, "monday.tar.zst");
    await during(write("monday"));
    copy(data, image);
    await command("backup", archive);
    for (const restore of [async () => copy(image, data), async () => (fs.rmSync(data, { recursive: true }), await command("restore", archive))]) {
        await during(write("tuesday"));
        await restore();
        const value = await during(async (user) => (await user.rest("execute_terminal_command", { sandbox_id: "days", command: "cat day" })).value);
        assert.equal(value.stdout, "tuesday\n");
        assert.match(value.note, /brought back as it was kept at .* older or lost/);
        assert.equal(await during((user) => user.run("days", "cat day")), "tuesday\n");
    }
    // Nothing was kept of this one: the storage has an older one.
    await storage.stop();
    await during((user) => user.run("days", "echo wednesday > day"));
    await storage.start();
    assert.equal(await during((user) => user.run("days", "cat day")), "wednesday\n");
    for (const each of [ours, aside]) fs.rmSync(each, { recursive: true, force: true });
});

await test("snapshots: a wrong secret is said with what to do, and sandboxes work without their snapshots", async () => {
    const server = await start_server({ settings: { ...alone, SNAPSHOT_STORE_SECRET: "wrong" } });
    const user = new caller(server.url, ann.token);
    const { sandbox_id } = await user.call("create_sandbox");
    assert.equal(await user.run(sandbox_id, "echo works"), "works\n");
    await user.call("file_write", { path: "notes.txt", content: "works" });
    const { value } = await user.rest("pause_sandbox", { sandbox_id });
    assert.equal(value.error_type, "SnapshotStoreError");
    assert.match(value.error, /SignatureDoesNotMatch.*SNAPSHOT_STORE_SECRET/s);
    assert(!value.error.includes("wrong"), value.error);
    await server.stop();
});

await test("snapshots: the storage stops", () => storage.stop());
process.exit();
