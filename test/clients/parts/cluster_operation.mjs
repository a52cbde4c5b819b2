// What an operator of a cluster has: labels and images say where sandboxes go, and commands check the cluster, fetch an image at all
// servers, and write into etcd what it has lost.
import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { caller } from "../lib/caller.mjs";
import { node_of, start_cluster } from "../lib/cluster.mjs";
import { start_etcd } from "../lib/etcd.mjs";
import { start_object_storage } from "../lib/object_storage.mjs";
import { test, until } from "../lib/report.mjs";
import { environment, free_port, program, start_server, temporary_folder } from "../lib/server.mjs";

const TOKEN = "a".repeat(32);
const PREFIX = "/cmcp/default/";
const storage = await start_object_storage();
const etcd = await start_etcd({ members: 3 });
const registry_port = await free_port();
const IMAGE = `0.0.0.0:${registry_port}/tools`;
const labels = { n1: "zone=a", n2: "zone=b,gpu=a100", n3: "zone=b,gpu=a100" };
const cluster = await start_cluster({
    etcd,
    settings: {
        ...storage.settings("operation"), SNAPSHOT_KEY: randomBytes(32).toString("hex"), SANDBOX_SNAPSHOT_EVERY: "1", MCP_DRAIN_NOTICE: "1",
        MCP_AUTH_TOKENS: `ann=${TOKEN}`, BASH_ALLOWED_COMMANDS: "*", SANDBOX_IMAGES: "native,tools:1,absent:1",
        SANDBOX_IMAGE_PULL: `0.0.0.0:${registry_port}/*`, WEB_CA_FILE: etcd.authority.certificate,
    },
    each: Object.fromEntries(Object.entries(labels).map(([name, CLUSTER_LABELS]) => [name, { CLUSTER_LABELS }])),
});
const ann = new caller("", TOKEN);
const at = (name) => ann.at(cluster.node(name).url);
const names = Object.keys(labels);

/// What the program says on the machine of a server: {code, stdout, stderr}.
const command = (name, ...words) => new Promise((done) => {
    const { folder, settings } = cluster.node(name);
    execFile(program, words, { env: environment(folder, settings), cwd: folder }, (error, stdout, stderr) => done({ code: error ? error.code : 0, stdout, stderr }));
});
async function must(name, ...words) {
    const { code, stdout, stderr } = await command(name, ...words);
    assert.equal(code, 0, `${words.join(" ")}: ${stdout} ${stderr}`);
    return stdout;
}

const about = async (name) => (await etcd.get(`${PREFIX}member/${name}`))[`${PREFIX}member/${name}`];
const owner_of = async (handle) => (await etcd.get(`${PREFIX}own/${handle}`))[`${PREFIX}own/${handle}`]?.node;
const kept = (name, sandbox_id) => until("the sandbox is kept", async () => (await at(name).call("pause_sandbox", { sandbox_id })).kept_elsewhere);
const made_at = async (name, wish) => node_of((await at(name).call("create_sandbox", wish)).sandbox_id);

// ---------------------------------------------------------------- labels
await test("operation: a sandbox with labels is made at a server that has them, whichever is asked", async () => {
    for (const name of names) {
        assert.equal(await made_at(name, { labels: ["zone=a"] }), "n1");
        assert.equal(await made_at(name, { labels: "zone=a" }), "n1");
        assert.match(await made_at(name, { labels: ["gpu=a100", "zone=b"] }), /^n[23]$/);
    }
});

await test("operation: labels that no server has, or of another form, are refused with what there is", async () => {
    const { status, value } = await at("n1").rest("create_sandbox", { labels: ["gpu=h100"] });
    assert.equal(status, 400);
    assert.match(value.error, /No server .*labels gpu=h100.*gpu=a100, zone=a, zone=b/);
    assert.match((await at("n1").rest("create_sandbox", { labels: ["zone=a", "gpu=a100"] })).value.error, /gpu=a100,zone=a/);
    assert.match((await at("n1").rest("create_sandbox", { labels: ["gpu"] })).value.error, /name=value/);
});

await test("operation: a server that is alone refuses labels, and its list of tools does not name them", async () => {
    const alone = await start_server();
    const nobody = new caller(alone.url);
    const { status, value } = await nobody.rest("create_sandbox", { labels: ["gpu=a100"] });
    assert.equal(status, 400);
    assert.match(value.error, /this server is alone/);
    const tools = await (await nobody.get("/mcp/tools")).json().catch(() => ({}));
    assert(!JSON.stringify(tools).includes("gpu=a100"), "the list names labels");
    await alone.stop();
});

// ---------------------------------------------------------------- images
const root = path.join(temporary_folder(), "root");
fs.mkdirSync(path.join(root, "bin"), { recursive: true });
fs.copyFileSync("/bin/busybox", path.join(root, "bin/busybox"));
fs.chmodSync(path.join(root, "bin/busybox"), 0o755);
for (const name of ["sh", "cat", "ls", "env", "sleep", "mktemp"]) fs.symlinkSync("busybox", path.join(root, "bin", name));
const has_image = (name, image) => until(`${name} tells of ${image}`, async () => (await about(name)).images?.includes(image));

await test("operation: a sandbox with an image is made where that is, and one whose image is nowhere is refused as by one server", async () => {
    await must("n2", "image", "add", `dir:${root}`, "--name", "tools:1");
    await has_image("n2", "tools:1");
    for (const name of names) assert.equal(await made_at(name, { image: "tools:1" }), "n2");
    const { value } = await at("n3").rest("create_sandbox", { image: "absent:1" });
    assert.equal(value.error_type, "ImageNotFound");
    assert.match((await at("n1").rest("create_sandbox", { image: "tools:1", labels: ["zone=a"] })).value.error, /tools:1.*not on this server/);
});

await test("operation: a lost server's sandbox is brought by one that has its image and labels, not by the one that is asked", async () => {
    const with_image = (await at("n2").call("create_sandbox", { image: "tools:1" })).sandbox_id;
    const with_labels = (await at("n2").call("create_sandbox", { labels: ["zone=b"], name: "labelled" })).sandbox_id;
    assert.equal(node_of(with_image), "n2");
    const lost = [with_image, ...(node_of(with_labels) === "n2" ? [with_labels] : [])];
    for (const sandbox_id of lost) {
        assert.equal(await at("n1").run(sandbox_id, "echo kept > file; cat file"), "kept\n");
        await kept("n1", sandbox_id);
    }
    await must("n3", "image", "add", `dir:${root}`, "--name", "tools:1");
    await has_image("n3", "tools:1");
    await cluster.node("n2").kill();
    for (const sandbox_id of lost) {
        await until("it answers", async () => (await at("n1").rest("execute_terminal_command", { sandbox_id, command: "cat file" })).value.stdout === "kept\n");
        assert.equal(await owner_of(sandbox_id), "n3");
    }
    await cluster.node("n2").start();
    for (const sandbox_id of lost) assert.equal(await at("n2").run(sandbox_id, "cat file"), "kept\n");
}, 120_000);

// ---------------------------------------------------------------- fetching at all servers
async function start_registry() {
    const folder = temporary_folder();
    const { certificate, key } = etcd.authority.sign("registry", "IP:0.0.0.0");
    fs.writeFileSync(path.join(folder, "registry.yml"), `version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: ${folder}/registry}}\n` +
        `http: {addr: '127.0.0.1:${registry_port}', tls: {certificate: ${certificate}, key: ${key}}}\n`);
    const process = spawn("docker-registry", ["serve", path.join(folder, "registry.yml")], { stdio: "ignore" });
    await until("the registry listens", () => new Promise((done) => {
        const probe = net.connect(registry_port, "127.0.0.1", () => { probe.destroy(); done(true); }).on("error", () => done(false));
    }));
    const layout = path.join(folder, "layout");
    for (const words of [["init", "--layout", layout], ["new", "--image", `${layout}:one`], ["insert", "--rootless", "--image", `${layout}:one`, root, "/"]])
        execFileSync("umoci", words, { stdio: "ignore" });
    execFileSync("skopeo", ["copy", "--quiet", "--dest-tls-verify=false", `oci:${layout}:one`, `docker://127.0.0.1:${registry_port}/tools:latest`], { stdio: "ignore" });
    return async () => {
        process.kill();
        await once(process, "exit");
    };
}

await test("operation: an image is fetched by all servers, or by those with labels, at a command, and what each did is said", async () => {
    const stop_registry = await start_registry();
    const of_zone = await must("n1", "cluster", "pull", IMAGE, "--labels", "zone=b");
    for (const name of ["n2", "n3"]) assert.match(of_zone, new RegExp(`^${name}: has it$`, "m"));
    assert(!of_zone.includes("n1"), of_zone);
    await Promise.all(["n2", "n3"].map((name) => has_image(name, `${IMAGE}:latest`)));
    assert(!((await about("n1")).images ?? []).includes(`${IMAGE}:latest`));
    const all = JSON.parse(await must("n1", "cluster", "pull", IMAGE, "--json"));
    assert.deepEqual(all.map(({ node, there }) => [node, there]), names.map((name) => [name, true]));
    await stop_registry();
    const refused = await command("n1", "cluster", "pull", "absent:1");
    assert.equal(refused.code, 1);
    for (const name of names) assert.match(refused.stdout, new RegExp(`^${name}: .*not on this server`, "m"));
    const gone = await command("n1", "cluster", "pull", `0.0.0.0:${registry_port}/other`, "--labels=zone=a");
    assert.equal(gone.code, 1);
    assert.match(gone.stdout, /^n1: .*could not be fetched|^n1: .*refuses/m);
    assert.match((await command("n1", "cluster", "pull", IMAGE, "--labels", "zone=c")).stderr, /no server has the labels zone=c/);
}, 120_000);

// ---------------------------------------------------------------- the check
async function checked(name) {
    const { code, stdout, stderr } = await command(name, "cluster", "check", "--json");
    assert(stdout.startsWith("{"), stderr);
    const { ok, checks } = JSON.parse(stdout);
    assert.equal(code, ok ? 0 : 1);
    assert.equal(ok, checks.every(({ state }) => state !== "fail"));
    return { ok, of: (subject) => checks.find((each) => each.subject === subject), checks };
}

await test("operation: the check of a whole cluster finds nothing that fails, and warns of certificates that end soon", async () => {
    const { ok, of, checks } = await checked("n1");
    assert(ok, JSON.stringify(checks.filter(({ state }) => state === "fail")));
    for (const { url } of etcd.members) assert.match(of(`etcd ${url}`).seen, /^3\.\d+\.\d+, (leads|follows), .*answers in [\d.]+ ms$/);
    assert.equal(checks.filter(({ seen }) => /, leads, /.test(seen)).length, 1);
    for (const name of names) {
        assert.match(of(`server ${name}`).seen, new RegExp(`up .*${labels[name].split(",").sort().join(", ")}`));
        assert.equal(of(`certificate of server ${name}`).state, "warn");
        assert.equal(of(`clock of server ${name}`).state, "ok");
    }
    for (const subject of ["members of etcd", "version of etcd", "space of etcd", "login at etcd", "leases", "compaction of etcd", "servers", "storage of snapshots"])
        assert.equal(of(subject).state, "ok", JSON.stringify(of(subject)));
    assert.match(of("writes to etcd").seen, /median [\d.]+ ms/);
    assert.equal(of("CLUSTER_CERT").state, "warn");
    assert.match(of("CLUSTER_CERT").seen, /ends in [01] days/);
    assert.deepEqual(Object.keys(await etcd.get(`${PREFIX}check/`)), []);
    assert(![...storage.objects.keys()].some((key) => key.includes("check/")));
    assert.match(await must("n1", "cluster", "check"), /^ok +servers +3 registered$/m);
});

await test("operation: the check names what is broken and what to do, and works where no server runs", async () => {
    await etcd.kill(["e2"]);
    const without_one = await checked("n1");
    assert(!without_one.ok);
    const lost = etcd.members.find(({ name }) => name === "e2").url;
    assert.equal(without_one.of(`etcd ${lost}`).state, "fail");
    assert.match(without_one.of(`etcd ${lost}`).advice, /start it/);
    assert.match(without_one.of("members of etcd").seen, /2 of 3 answer/);
    assert.equal(without_one.of("server n2").state, "ok");
    await etcd.start(["e2"]);
    await cluster.node("n3").kill();
    await until("n3 is registered no more", async () => await about("n3") === undefined);
    const not_there = await checked("n3");
    assert.match(not_there.of("servers").advice, /SANDBOX_NODE=n3.*does not run/);
    await cluster.node("n3").start();
    await storage.stop();
    const without_storage = await checked("n1");
    assert.equal(without_storage.of("storage of snapshots").state, "fail");
    assert(!without_storage.ok);
    await storage.start();
    assert((await checked("n1")).ok);
}, 120_000);

await test("operation: a check without a cluster says so", async () => {
    const alone = await new Promise((done) => execFile(program, ["cluster", "check"], { env: environment(temporary_folder()) }, (error, stdout, stderr) => done({ code: error?.code, stderr })));
    assert.equal(alone.code, 2);
    assert.match(alone.stderr, /CLUSTER_ETCD is not set/);
});

await test("operation: certificates that end soon are in the log once, among the figures, and in /healthz", async () => {
    const lines = fs.readFileSync(path.join(cluster.node("n1").folder, "server.log"), "utf8").split("\n").filter((line) => line.includes("certificate_ends_soon"));
    assert.equal(lines.length, 2, lines.join("\n"));
    const figures = await (await at("n1").get("/metrics")).text();
    const left = Number(/^cmcp_certificate_expiry_seconds\{certificate="cluster"\} (\S+)$/m.exec(figures)[1]);
    assert(left > 86_400 && left <= 2 * 86_400, left);
    const { certificates } = await (await at("n1").get("/healthz?verbose")).json();
    assert.deepEqual(certificates.map(({ certificate }) => certificate), ["cluster", "cluster_ca"]);
});

// ---------------------------------------------------------------- owners that etcd has lost
/// A sandbox of n1 that n3 has, kept there.
async function moved_to_n3(content) {
    const { sandbox_id } = await at("n1").call("create_sandbox", { labels: ["zone=a"] });
    assert.equal(node_of(sandbox_id), "n1");
    await must("n1", "cluster", "move", sandbox_id, "n3");
    await until("n3 has it", async () => await owner_of(sandbox_id) === "n3");
    await at("n1").run(sandbox_id, `echo ${content} > file`);
    await kept("n1", sandbox_id);
    return sandbox_id;
}
const reads = async (name, sandbox_id) => (await at(name).rest("execute_terminal_command", { sandbox_id, command: "cat file" })).value.stdout;
const lose_owners = () => etcd.command("del", "--prefix", `${PREFIX}own/`);

await test("operation: servers that run say again what they have where etcd has lost it", async () => {
    const sandbox_id = await moved_to_n3("alive");
    await lose_owners();
    await until("n3 has it again", async () => await owner_of(sandbox_id) === "n3");
    for (const name of names) await until(`${name} finds it`, async () => await reads(name, sandbox_id) === "alive\n");
    await at("n1").call("delete_sandbox", { sandbox_id });
    await until("nobody owns what is deleted", async () => await owner_of(sandbox_id) === undefined);
}, 120_000);

await test("operation: what a server had that does not run is written into etcd by a command, and brought by the next call", async () => {
    const sandbox_id = await moved_to_n3("lost");
    const [home] = (await at("n3").call("list_sandboxes")).sandboxes.filter(({ sandbox_id: id }) => id.startsWith("sbx_home_"));
    await cluster.node("n3").kill();
    await until("n3 is registered no more", async () => await about("n3") === undefined);
    await lose_owners();
    const planned = JSON.parse(await must("n1", "cluster", "rebuild", "--dry-run", "--json"));
    assert.deepEqual(planned.written.filter(({ sandbox }) => sandbox === sandbox_id).map(({ server }) => server), ["n3"]);
    assert.equal(await owner_of(sandbox_id), undefined);
    assert.match(await must("n1", "cluster", "rebuild"), new RegExp(`^${sandbox_id}  n3$`, "m"));
    assert.equal(await owner_of(sandbox_id), "n3");
    const again = JSON.parse(await must("n1", "cluster", "rebuild", "--json"));
    assert.deepEqual(again.written, []);
    assert(again.known > 0 && again.never_moved > 0, JSON.stringify(again));
    await until("it answers", async () => await reads("n1", sandbox_id) === "lost\n");
    assert.equal(await owner_of(sandbox_id), "n1");
    if (home) assert.equal((await at("n1").call("list_sandboxes")).sandboxes.filter(({ sandbox_id: id }) => id === home.sandbox_id).length <= 1, true);
    await cluster.node("n3").start();
    for (const name of names) assert.equal(await reads(name, sandbox_id), "lost\n");
}, 120_000);

await test("operation: a default sandbox of a lost server comes back with its files where etcd knows nothing of it", async () => {
    await at("n1").call("file_write", { path: "note.txt", content: "of the default\n" });
    const handles = Object.entries(await etcd.get(`${PREFIX}own/sbx_home_`));
    assert.equal(handles.length, 1);
    const [[key, { node }]] = handles;
    const handle = key.split("/").at(-1);
    await until("it is kept", () => [...storage.objects.keys()].some((each) => each.includes(`/manifests/${handle}/`)));
    const other = names.find((name) => name !== node);
    await cluster.node(node).kill();
    await until("it is registered no more", async () => await about(node) === undefined);
    await lose_owners();
    await until("it is read", async () => (await at(other).rest("file_read", { path: "note.txt" })).value.content === "of the default\n");
    await cluster.node(node).start();
    await until("the other one agrees", async () => (await at(node).rest("file_read", { path: "note.txt" })).value.content === "of the default\n");
}, 120_000);

await test("operation: the servers stop and leave nothing", () => cluster.stop(), 120_000);
await etcd.stop();
await storage.stop();
