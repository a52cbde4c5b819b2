// Servers of a cluster keep their sandboxes in a real S3 storage that is none of ours: the gateway of Ceph. Only when named, because
// Ceph's packages are needed: radosgw, ceph-mon, ceph-osd.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { caller } from "../lib/caller.mjs";
import { start_ceph } from "../lib/ceph.mjs";
import { start_rig } from "../lib/cluster_rig.mjs";
import { fail, test, until } from "../lib/report.mjs";
import { start_server } from "../lib/server.mjs";

let begun = performance.now();
const seconds = () => (performance.now() - begun) / 1000;

const storage = await start_ceph().catch((problem) => {
    fail("ceph: its monitor, OSD and gateway start", problem.message);
    process.exit();
});
console.log(`# Ceph served after ${seconds().toFixed(1)} s`);
const settings = { ...storage.settings("cluster"), SNAPSHOT_KEY: randomBytes(32).toString("hex"), SANDBOX_SNAPSHOT_EVERY: "1" };
const { cluster, ann, names, at, another, third, boxes, stop } = await start_rig(settings);

const objects_of = async (handle) => (await storage.objects("cluster/")).filter(({ key }) => key.includes(handle));
const claims = (handle) => storage.keys(`cluster/claims/${handle}/`);
const stamp = async (handle) => (await storage.objects(`cluster/manifests/${handle}/`)).map(({ key, etag }) => key + etag).join();

const megabytes = (objects) => (objects.reduce((bytes, { size }) => bytes + size, 0) / 1e6).toFixed(1);

/// What was done before this call is in the storage.
async function kept(name) {
    const before = await stamp(boxes[name]);
    await at(name).run(boxes[name], "date +%N > .touched");
    await until(`the sandbox of ${name} is kept`, async () => (await stamp(boxes[name])) !== before);
}

async function pause(name, sandbox_id) {
    assert.equal((await at(name).call("pause_sandbox", { sandbox_id })).kept_elsewhere, true);
}

/// All of it is in the storage, and nothing changes there until it is used again. A new use, so that no copy of before counts.
async function paused(name, handle = boxes[name]) {
    await at(name).run(handle, "true");
    await pause(name, handle);
}

async function answer_of(name, handle, command) {
    const { status, value } = await at(name).rest("execute_terminal_command", { sandbox_id: handle, command });
    assert.equal(status, 200, JSON.stringify(value));
    return value;
}

async function back(name) {
    await cluster.node(name).start();
    await until(`${name} is in touch`, async () => (await at(name).get("/healthz")).status === 200);
}

await test("ceph: a sandbox that is used is kept, and nobody reads it in the storage", async () => {
    await at("n1").run(boxes.n1, "echo very-secret-words > secret.txt; mkdir -p 'a b/c'; ln -s ../secret.txt 'a b/link'; chmod 750 secret.txt");
    await at("n1").call("snapshot_sandbox", { sandbox_id: boxes.n1, name: "before-all" });
    for (const name of names) await kept(name);
    const keys = await storage.keys("cluster/");
    for (const name of names) assert(keys.some((key) => key.startsWith(`cluster/chunks/${boxes[name]}/`)), `no chunk of ${name}`);
    for (const key of keys) {
        const bytes = await storage.get(key);
        for (const text of ["very-secret-words", "secret.txt", "before-all"]) assert(!bytes.includes(text), `${key} has ${text}`);
    }
});

await test("ceph: the second snapshot of 20 MB that changed in one place has few new bytes", async () => {
    const write = (letter) => `printf ${letter} | dd of=large bs=1 seek=10000000 conv=notrunc 2> /dev/null`;
    await at("n2").run(boxes.n2, `head -c 20000000 /dev/urandom > large; ${write("x")}`);
    await paused("n2");
    const before = new Map((await objects_of(boxes.n2)).map(({ key, etag }) => [key, etag]));
    await at("n2").run(boxes.n2, write("y"));
    await paused("n2");
    const now = await objects_of(boxes.n2);
    const fresh = now.filter(({ key, etag }) => before.get(key) !== etag);
    console.log(`# ${megabytes(now)} MB are kept in ${now.length} objects, ${megabytes(fresh)} MB in ${fresh.length} of them since a byte changed`);
    assert(megabytes(now) >= 20 && megabytes(now) < 25, `${megabytes(now)} MB`);
    assert(fresh.length <= 4 && megabytes(fresh) < 9, `${fresh.length} objects`);      // a chunk or two, of 4 MiB at most, and the manifest
});

await test("ceph: of several that create the same object at once, exactly one is first", async () => {
    for (let round = 0; round < 50; ++round) {
        const key = `race/${round}`, creators = round % 2 ? 2 : 8;
        const puts = Array.from({ length: creators }, (_, i) => storage.put(key, `of ${i}`, { "if-none-match": "*" }));
        const statuses = (await Promise.all(puts)).map(({ status }) => status);
        assert.deepEqual([...statuses].sort(), [200, ...Array(creators - 1).fill(412)], `round ${round}`);
        assert.equal(String(await storage.get(key)), `of ${statuses.indexOf(200)}`);
    }
});

await test("ceph: the sandbox of a server that is killed answers at another, under the same handle", async () => {
    await paused("n1");
    begun = performance.now();
    const gone = cluster.node("n1").kill();
    const value = await answer_of("n2", boxes.n1, "cat whose 'a b/link'; stat -c %a secret.txt");
    console.log(`# a killed server's sandbox answered elsewhere after ${seconds().toFixed(1)} s`);
    assert(seconds() < 10, `${seconds()} s`);
    await gone;
    assert.equal(value.stdout, "n1\nvery-secret-words\n750\n");
    assert.match(value.note, /The server n1 that had the sandbox is gone/);
    assert.equal((await claims(boxes.n1)).length, 1);
    const { snapshots } = await at("n3").call("snapshot_sandbox", { sandbox_id: boxes.n1, action: "list" });
    assert.deepEqual(snapshots.map(({ name }) => name), ["before-all"]);
    await at("n3").run(boxes.n1, "echo later > newest");
    await back("n1");
    assert.equal(await at("n1").run(boxes.n1, "cat newest"), "later\n");
});

await test("ceph: 20 MB of a killed server's sandbox that two servers want at once are at one of them, unchanged", async () => {
    const digest = await at("n2").run(boxes.n2, "sha256sum large");
    await paused("n2");
    const heirs = [another("n2"), third("n2")];
    begun = performance.now();
    const gone = cluster.node("n2").kill();
    const calls = await Promise.allSettled(heirs.map((name) => answer_of(name, boxes.n2, "sha256sum large; echo seen >> who")));
    console.log(`# both had an answer about 20 MB after ${seconds().toFixed(1)} s`);
    await gone;
    await back("n2");
    assert.equal((await claims(boxes.n2)).length, 1);
    for (const { value, reason } of calls) assert.equal(value?.stdout, digest, reason);
    for (const name of heirs) assert.equal(await at(name).run(boxes.n2, "cat who"), "seen\nseen\n");
});

await test("ceph: what a command writes after the sandbox was kept in its midst is kept, too", async () => {
    const { sandbox_id } = await at("n2").call("create_sandbox");
    await at("n2").run(sandbox_id, "echo begun > state");
    await paused("n2", sandbox_id);
    const before = await stamp(sandbox_id);
    const run = at("n2").run(sandbox_id, "for i in $(seq 40); do sleep 0.1; echo $i >> log; done; echo finished > state");
    let has_ended = false;
    run.finally(() => { has_ended = true; }).catch(() => {});
    await until("the sandbox is kept", async () => (await stamp(sandbox_id)) !== before);
    assert(!has_ended, "the command had ended before the sandbox was kept");
    await run;
    await pause("n2", sandbox_id);
    const gone = cluster.node("n2").kill();
    const { stdout } = await answer_of("n3", sandbox_id, "cat state; tail -n 1 log");
    await gone;
    await back("n2");
    assert.equal(stdout, "finished\n40\n");
    await at("n3").call("delete_sandbox", { sandbox_id });
});

await test("ceph: a sandbox that could not be brought, because the storage lacked a part, is brought later", async () => {
    const { sandbox_id } = await at("n3").call("create_sandbox");
    await at("n3").run(sandbox_id, "echo whole > state");
    await paused("n3", sandbox_id);
    const [part] = await storage.keys(`cluster/chunks/${sandbox_id}/`);
    const bytes = await storage.get(part);
    await storage.remove(part);
    const gone = cluster.node("n3").kill();
    const { value } = await at("n1").rest("execute_terminal_command", { sandbox_id, command: "cat state" });
    await gone;
    await back("n3");
    assert.match(value.error, /could not be brought here: A part of the snapshot .* is missing in the storage/);
    await storage.put(part, bytes);
    assert.equal((await answer_of("n1", sandbox_id, "cat state")).stdout, "whole\n");
    await at("n1").call("delete_sandbox", { sandbox_id });
});

await test("ceph: a server that stops releases its sandboxes, so that others have them at once", async () => {
    await at("n3").run(boxes.n3, "echo at the end > last");
    await cluster.node("n3").stop({ keep: true });
    begun = performance.now();
    assert.equal(await at("n1").run(boxes.n3, "cat last"), "at the end\n");
    console.log(`# a stopped server's sandbox answered elsewhere after ${seconds().toFixed(1)} s`);
    await back("n3");
});

await test("ceph: deleting a sandbox deletes all that is kept of it", async () => {
    for (const handle of Object.values(boxes)) {
        assert((await objects_of(handle)).length > 0, handle);
        await at("n1").call("delete_sandbox", { sandbox_id: handle });
    }
    for (const handle of Object.values(boxes)) await until(`nothing of ${handle} is kept`, async () => (await objects_of(handle)).length === 0);
});

await test("ceph: a wrong secret is said with what to do, and sandboxes work without their snapshots", async () => {
    const wrong = `not-the-secret-${randomBytes(8).toString("hex")}`;
    const server = await start_server({ settings: { ...storage.settings("alone"), SNAPSHOT_KEY: settings.SNAPSHOT_KEY, SNAPSHOT_STORE_SECRET: wrong, SANDBOX_NODE: "single", MCP_AUTH_TOKENS: `ann=${ann.token}` } });
    const user = new caller(server.url, ann.token);
    const { sandbox_id } = await user.call("create_sandbox");
    assert.equal(await user.run(sandbox_id, "echo works"), "works\n");
    const { value } = await user.rest("pause_sandbox", { sandbox_id });
    console.log(`# ${value.error}`);
    assert.equal(value.error_type, "SnapshotStoreError");
    assert.match(value.error, /403 SignatureDoesNotMatch.*SNAPSHOT_STORE_SECRET/s);
    assert(!value.error.includes(wrong), value.error);
    await server.stop();
    assert.deepEqual(await storage.keys("alone/"), []);
});

await test("ceph: all servers stop, and leave nothing", stop);

await test("ceph: its monitor, OSD and gateway end, and leave nothing", () => storage.stop());
