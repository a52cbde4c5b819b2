// Five servers, each on a machine of its own (a network namespace), with HAProxy, etcd on the first three, and object storage: older sessions,
// the real clients, a killed server under load, etcd without its leader, a network that breaks in two, a rolling restart. Runs when it is named:
// test/clients/run machines
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import path from "node:path";
import readline from "node:readline";
import { reply } from "../lib/caller.mjs";
import { node_of } from "../lib/cluster.mjs";
import { start_rig } from "../lib/cluster_rig.mjs";
import { enter_own_network, HOST, make_machines } from "../lib/machines.mjs";
import { start_object_storage } from "../lib/object_storage.mjs";
import { test, until } from "../lib/report.mjs";

await enter_own_network(import.meta.filename);
const NAMES = ["n1", "n2", "n3", "n4", "n5"];
const machines = make_machines(NAMES);

// ---------------------------------------------------------------- the real clients, each with a cluster of its own
const here = import.meta.dirname;

async function suite(program, ...words) {
    const env = { ...process.env, CMCP_SERVE: path.join(here, "../lib/cluster_serve.mjs"), CMCP_MACHINES: NAMES.join(" ") };
    const child = spawn(program, words, { env, stdio: ["ignore", "pipe", "inherit"] });
    const exit = once(child, "exit");
    for await (const line of readline.createInterface({ input: child.stdout })) console.log(line.replace(/^(ok|not ok) /, "$1 machines: "));
    const [code] = await exit;
    if (code !== 0) process.exitCode = 1;
}
await suite("node", path.join(here, "list.mjs"), "sdk-http", "sdk-sse", "client2-legacy-http", "client2-modern-http");
await suite("node", path.join(here, "streaming.mjs"), "client2-modern-http");
await suite("python3", path.join(here, "../../system/protocol/stream"), "--http");

// ---------------------------------------------------------------- one cluster
const storage = await start_object_storage({ host: HOST });
const settings = { ...storage.settings("machines"), SNAPSHOT_KEY: randomBytes(32).toString("hex"), SANDBOX_SNAPSHOT_EVERY: "1", MCP_DRAIN_NOTICE: "2" };
const { cluster, etcd, ann, names, at, boxes, stop } = await start_rig(settings, { machines });
const is_ready = async (node) => (await fetch(`${node.url}/healthz`).catch(() => ({}))).status === 200;
const all_ready = () => Promise.all(cluster.nodes.map((node) => until(`${node.name} is ready`, () => is_ready(node))));

/// Clients that write one line after the other into a sandbox each, through HAProxy, until `stop()`, which gives the requests that failed,
/// by client, and loses no line.
function start_load() {
    const handles = Object.values(boxes);
    const failures = handles.map(() => []);
    let calls = 0, goes_on = true;
    async function client(handle, number) {
        await ann.run(handle, ": > log");
        for (let i = 1; goes_on; ++i, ++calls) {
            const problem = await ann.rest("execute_terminal_command", { sandbox_id: handle, command: `echo ${i} >> log` }).then(
                ({ status, value }) => (status === 200 && value.exit_code === 0 ? undefined : `${status} ${JSON.stringify(value).slice(0, 200)}`),
                (error) => String(error.cause ?? error));
            if (problem) failures[number].push(problem);
        }
    }
    const clients = handles.map(client);
    return {
        calls: () => calls,
        async stop() {
            goes_on = false;
            await Promise.all(clients);
            return failures;
        },
        lines: async () => {
            const counts = await Promise.all(handles.map(async (handle) => Number(await ann.run(handle, "wc -l < log"))));
            return counts.reduce((sum, count) => sum + count, 0);
        },
    };
}

async function some_calls(load, count) {
    const before = load.calls();
    await until(`${count} calls`, () => load.calls() >= before + count);
}

await test("machines: 30 sessions of older clients work through HAProxy, with calls to every server's sandbox", async () => {
    const revisions = ["2025-03-26", "2025-06-18", "2025-11-25"];
    await Promise.all(Array.from({ length: 30 }, async (_, i) => {
        const session = await ann.session(revisions[i % revisions.length]);
        for (const name of names) {
            const { result } = await reply(session.call("execute_terminal_command", { sandbox_id: boxes[name], command: "cat whose" }));
            assert((result.structuredContent?.stdout ?? result.content[0].text).includes(name), JSON.stringify(result));
        }
        assert.equal(await session.end(), 204);
    }));
}, 120_000);

await test("machines: lists are complete, whichever server is asked", async () => {
    for (const name of names) {
        const list = await at(name).call("list_sandboxes");
        assert.deepEqual(list.sandboxes.map(({ sandbox_id }) => sandbox_id).sort(), Object.values(boxes).sort());
        assert.deepEqual(list.unreachable_nodes ?? [], []);
    }
});

await test("machines: while etcd has lost its leader, and when that is back, no call fails", async () => {
    const load = start_load();
    await some_calls(load, 50);
    const leader = await etcd.leader();
    await etcd.kill([leader]);
    await some_calls(load, 100);
    await etcd.start([leader]);
    await some_calls(load, 100);
    assert.deepEqual((await load.stop()).flat(), []);
    assert.equal(await load.lines(), load.calls());
});

/// Sandboxes of n2 that are kept, whose file `whose` says so.
async function more_of_n2(count) {
    const handles = [];
    while (handles.length < count) {
        const { sandbox_id } = await at("n2").call("create_sandbox");
        if (node_of(sandbox_id) === "n2") handles.push(sandbox_id);
        else await at("n2").call("delete_sandbox", { sandbox_id });
    }
    await Promise.all(handles.map((handle) => at("n2").run(handle, "echo n2 > whose")));
    await Promise.all(handles.map((sandbox_id) => until("it is kept", async () => (await at("n2").call("pause_sandbox", { sandbox_id })).kept_elsewhere)));
    return handles;
}

await test("machines: kill -9 of a server under load fails at most one request a client, and all its sandboxes answer elsewhere", async () => {
    const handles = await more_of_n2(5);
    const load = start_load();
    await some_calls(load, 100);
    const begun = performance.now();
    const gone = cluster.node("n2").kill();
    const seconds = await Promise.all([boxes.n2, ...handles].map(async (sandbox_id) => {
        const { status, value } = await at("n4").rest("execute_terminal_command", { sandbox_id, command: "cat whose" });
        assert.deepEqual([status, value.stdout], [200, "n2\n"], JSON.stringify(value));
        return (performance.now() - begun) / 1000;
    }));
    console.log(`# under load its ${seconds.length} sandboxes answered elsewhere after ${Math.min(...seconds).toFixed(1)} to ${Math.max(...seconds).toFixed(1)} s`);
    await gone;
    await some_calls(load, 50);
    const failures = await load.stop();
    await cluster.node("n2").start();
    await all_ready();
    for (const sandbox_id of handles) await at("n4").call("delete_sandbox", { sandbox_id });
    console.log(`# requests that failed, by client: ${failures.map(({ length }) => length)}; of ${load.calls()}`);
    assert(failures.every(({ length }) => length <= 1), JSON.stringify(failures));
});

await test("machines: when the network breaks in two, the smaller side refuses what the larger one takes over, and none lives twice", async () => {
    const smaller = ["n4", "n5"], larger = ["n1", "n2", "n3"];      // these have etcd
    for (const name of names) await at("n3").run(boxes[name], "echo before > state");
    await until("all is kept", async () => (await Promise.all(names.map((name) => at("n3").call("pause_sandbox", { sandbox_id: boxes[name] })))).every(({ kept_elsewhere }) => kept_elsewhere));
    machines.cut_off(smaller);
    try {
        const begun = performance.now();
        const write = (side, name) => at(side).rest("execute_terminal_command", { sandbox_id: boxes[name], command: `echo ${side} > state; cat state` });
        await Promise.all(names.map((name) => until(`the larger side has ${name}'s`, async () => (await write("n3", name)).value.stdout === "n3\n")));
        console.log(`# the larger side had all after ${((performance.now() - begun) / 1000).toFixed(1)} s`);
        for (const side of smaller)
            for (const name of names) {
                const { status, value } = await write(side, name);
                assert(status !== 200 && ["NodeCutOff", "NodeUnreachable"].includes(value.error_type), `${side}: ${status} ${JSON.stringify(value)}`);
            }
        for (const side of larger) assert.equal(await at(side).run(boxes.n1, "cat state"), "n3\n");
    } finally {
        machines.heal();
    }
    await all_ready();
    for (const side of names) for (const name of names) assert.equal(await at(side).run(boxes[name], "cat state"), "n3\n");
    const { sandboxes } = await at("n1").call("list_sandboxes");
    assert.deepEqual(sandboxes.map(({ sandbox_id }) => sandbox_id).sort(), Object.values(boxes).sort());
}, 120_000);

await test("machines: a rolling restart of all servers under load fails no call and loses no line", async () => {
    await all_ready();
    const load = start_load();
    await some_calls(load, 50);
    for (const node of cluster.nodes) {
        await node.stop({ keep: true });
        await node.start();
        await all_ready();      // as an engine waits before it goes on
    }
    const failures = (await load.stop()).flat();
    console.log(`# ${load.calls()} calls during a rolling restart, ${failures.length} failed`);
    assert.deepEqual(failures, []);
    assert.equal(await load.lines(), load.calls());
}, 300_000);

await test("machines: all stops, and leaves nothing", async () => {
    await stop();
    await storage.stop();
});
process.exit();
