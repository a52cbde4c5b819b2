// Three servers work as one: whatever a call, a session or a task is about, its requests may come to any of them.
import assert from "node:assert/strict";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as SseV1 } from "@modelcontextprotocol/sdk/client/sse.js";
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { progress, reply } from "../lib/caller.mjs";
import { node_of } from "../lib/cluster.mjs";
import { start_rig } from "../lib/cluster_rig.mjs";
import { end, with_marker } from "../lib/processes.mjs";
import { test, until } from "../lib/report.mjs";

const { front, ann, names, at, another, third, boxes, stop } = await start_rig({ MCP_TASK_AFTER: "1" });
const box = boxes.n1;

// ---------------------------------------------------------------- sessions and calls
function value_of(result) {
    assert(!result.isError, JSON.stringify(result).slice(0, 300));
    return result.structuredContent ?? JSON.parse(result.content[0].text);
}

async function streamable_session(revision, name) {
    const session = await ann.session(revision);
    const list = (await reply(session.post("tools/list"))).result.tools;
    assert(list.some((tool) => tool.name === "execute_terminal_command"), `${list.length} tools`);
    const { result } = await reply(session.call("execute_terminal_command", { sandbox_id: boxes[name], command: "cat whose" }));
    assert.equal(value_of(result).stdout, `${name}\n`);
    assert("result" in await reply(session.post("ping")));
    assert.equal(await session.end(), 204);
    const after = session.post("tools/list");
    await after.ended;
    assert.equal(after.status(), 404, "a session goes on after its end");
    return node_of(session.id);
}

async function sse_client() {
    const client = new ClientV1({ name: "cluster", version: "1" });
    await client.connect(new SseV1(new URL(`${front.url}/sse`), { requestInit: { headers: ann.headers } }));
    return client;
}

async function sse_session(name) {
    const client = await sse_client();
    assert((await client.listTools()).tools.length > 20);
    const result = await client.callTool({ name: "execute_terminal_command", arguments: { sandbox_id: boxes[name], command: "cat whose" } });
    assert.equal(value_of(result).stdout, `${name}\n`);
    await client.close();
}

const turns = (count) => Array.from({ length: count }, (_, i) => names[i % names.length]);

await test("cluster: 9 sessions of 2024-11-05 work, whichever server gets which request", async () => {
    for (const name of turns(9)) await sse_session(name);
});
for (const revision of ["2025-03-26", "2025-06-18", "2025-11-25"]) {
    await test(`cluster: 7 sessions of ${revision} work, whichever server gets which request`, async () => {
        const homes = new Set();
        for (const name of turns(7)) homes.add(await streamable_session(revision, name));
        assert(homes.size > 1, "all sessions are of one server");
    });
}

const COMMAND = { sandbox_id: box, command: "cat whose" };

await test("cluster: a call by handle works at each server: stateless, in a session, by REST", async () => {
    for (const asked_of of names) for (const name of names) {
        const args = { ...COMMAND, sandbox_id: boxes[name] };
        assert.equal(value_of((await reply(at(asked_of).tool("execute_terminal_command", args))).result).stdout, `${name}\n`);
        assert.equal((await at(asked_of).call("execute_terminal_command", args)).stdout, `${name}\n`);
        const session = await at(asked_of).session();
        assert.equal(value_of((await reply(session.call("execute_terminal_command", args))).result).stdout, `${name}\n`);
    }
});

await test("cluster: the default sandbox is at one server, whichever is asked, and by its name what a result had no room for", async () => {
    await at("n1").call("file_write", { path: "of-ann.txt", content: "one\n" });
    for (const name of names) {
        await at(name).call("system_run_command", { command: `echo ${name} >> of-ann.txt` });
        const session = await at(another(name)).session();
        const { content } = value_of((await reply(session.call("file_read", { path: "of-ann.txt" }))).result);
        assert(content.endsWith(`${name}\n`), content);
        const read = await reply(at(third(name)).modern("resources/read", { uri: "workspace:///of-ann.txt" }));
        assert.equal(read.result.contents[0].text, content);
    }
    const { output_path } = await at("n2").call("system_info", { max_output: 100 });
    assert.equal(node_of(output_path.split("/").at(-1)), "n2");
    for (const name of names) assert.match((await at(name).call("file_read", { path: output_path })).content, /^\[limits\]/);
});

await test("cluster: a result is the same, byte by byte, from its own server and from another", async () => {
    await at("n1").run(box, "touch -d @1700000000 whose");   // Boost.JSON reads fractions as they are but for the last digit
    for (const args of [{ sandbox_id: box, path: "whose" }, { sandbox_id: box, path: "none" }, { sandbox_id: box }]) {
        const [own, other] = await Promise.all(["n1", "n2"].map(async (name) => JSON.stringify((await reply(at(name).tool("file_read", args))))));
        assert.equal(other, own);
        const [by_rest, by_other] = await Promise.all(["n1", "n2"].map((name) => at(name).rest("file_read", args)));
        delete by_rest.value.request_id;
        delete by_other.value.request_id;
        assert.deepEqual([by_other.status, by_other.value], [by_rest.status, by_rest.value]);
    }
});

// ---------------------------------------------------------------- streams
const GOES_ON_WITH = (file) => `echo first; until [ -e ${file} ]; do sleep 0.05; done; echo last`;

/// `heard()` is the text so far; the run does not end before its first line was there.
async function streams(file, heard, result) {
    await until("the first line arrives", () => heard() === "first\n");
    await ann.run(box, `touch ${file}`);
    assert.equal((await result).stdout, "first\nlast\n");
    assert("first\nlast\n".startsWith(heard()) && heard().length >= 6, heard());
}

await test("cluster: output arrives through another server while the run goes on: stateless", async () => {
    const call = at("n2").tool("execute_terminal_command", { sandbox_id: box, command: GOES_ON_WITH("go1") });
    await streams("go1", () => progress(call), reply(call).then(({ result }) => value_of(result)));
});
await test("cluster: output arrives through another server while the run goes on: 2025-11-25", async () => {
    const session = await at("n3").session();
    const call = session.call("execute_terminal_command", { sandbox_id: box, command: GOES_ON_WITH("go2") });
    await streams("go2", () => progress(call), reply(call).then(({ result }) => value_of(result)));
});
await test("cluster: output arrives through another server while the run goes on: 2024-11-05", async () => {
    const client = await sse_client();
    let heard = "";
    const onprogress = ({ message }) => { heard += message ?? ""; };
    const call = client.callTool({ name: "execute_terminal_command", arguments: { sandbox_id: boxes.n2, command: GOES_ON_WITH("go3") } }, undefined, { onprogress });
    await until("the first line arrives", () => heard === "first\n");
    await ann.run(boxes.n2, "touch go3");
    assert.equal(value_of(await call).stdout, "first\nlast\n");
    await client.close();
});
await test("cluster: output arrives through another server while the run goes on: REST", async () => {
    const call = at("n2").rest_events("execute_terminal_command", { sandbox_id: box, command: GOES_ON_WITH("go4") });
    const heard = () => call.messages().map(({ text }) => text ?? "").join("");
    await streams("go4", heard, call.ended.then(() => call.messages().at(-1)));
});
await test("cluster: a TypeScript client of 2026-07-28 works with a sandbox behind the front", async () => {
    const client = new ClientV2({ name: "cluster", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
    await client.connect(new HttpV2(new URL(`${front.url}/mcp`), { requestInit: { headers: ann.headers } }));
    let heard = "";
    const call = async (name, args, options) => value_of(await client.callTool({ name, arguments: args }, options));
    const { sandbox_id } = await call("create_sandbox", {});
    const options = { onprogress: ({ message }) => { heard += message ?? ""; } };
    for (let i = 0; i < 6; ++i) assert.equal((await call("execute_terminal_command", { sandbox_id, command: `echo ${i}` }, options)).stdout, `${i}\n`);
    assert.equal(heard, "0\n1\n2\n3\n4\n5\n");
    await call("delete_sandbox", { sandbox_id });
    await client.close();
});

// ---------------------------------------------------------------- cancelling
const marked = (name) => `cmcp-cluster-${name}-${process.pid}`;
const endless = (name) => ({ sandbox_id: box, command: `exec -a ${marked(name)} sleep 300`, timeout: 250 });

async function cancels(name, begin, cancel) {
    const call = await begin(endless(name));
    await until("the process runs", () => with_marker(marked(name)).length > 0);
    await cancel(call);
    await until("the process ends", () => !with_marker(marked(name)).length).finally(() => end(with_marker(marked(name))));
    assert.equal(await ann.run(box, "echo alive"), "alive\n");
}

await test("cluster: a call of 2026-07-28 that is cut ends its run at the other server", () =>
    cancels("cut", async (args) => at("n2").tool("execute_terminal_command", args), (call) => call.cut()));
await test("cluster: a REST call that is cut ends its run at the other server", () =>
    cancels("rest", async (args) => at("n2").rest_events("execute_terminal_command", args), (call) => call.cut()));
await test("cluster: notifications/cancelled at any server ends the run at the other server", async () => {
    const session = await ann.session();
    await cancels("notified", async (args) => session.call("execute_terminal_command", args),
                  () => session.notify("notifications/cancelled", { requestId: 1, reason: "test" }));
});

// ---------------------------------------------------------------- tasks, jobs and lists
const task = async (name, id, method = "tasks/get", params = {}) => reply(at(name).modern(method, { taskId: id, ...params }));

await test("cluster: a task is seen, updated and cancelled at each server", async () => {
    const { result: begun } = await reply(at("n2").task("execute_terminal_command", { sandbox_id: box, command: "sleep 1.3; echo up; sleep 300", timeout: 250 }));
    assert.equal(begun.resultType, "task", JSON.stringify(begun));
    for (const name of names) assert.equal((await task(name, begun.taskId)).result.status, "working");
    const updates = await Promise.all(names.map(async (name) => (await task(name, begun.taskId, "tasks/update", { inputResponses: {} }))));
    for (const each of updates) assert.deepEqual(each, updates[0]);
    for (const name of names) await until("its output is read", async () => (await at(name).call("job_poll", { job_id: begun.taskId, wait: 5 })).output === "up\n");
    assert("result" in await task(third(node_of(begun.taskId)), begun.taskId, "tasks/cancel"));
    for (const name of names) await until("it is cancelled", async () => (await task(name, begun.taskId)).result.status === "cancelled");
});

await test("cluster: a subscription at another server hears of a task's end", async () => {
    const { result: begun } = await reply(at("n1").task("execute_terminal_command", { sandbox_id: box, command: "until [ -e go5 ]; do sleep 0.05; done" }));
    const stream = at("n2").modern("subscriptions/listen", { notifications: { taskIds: [begun.taskId] } });
    await until("it is heard", () => stream.messages().some(({ method }) => method?.endsWith("acknowledged")));
    assert.deepEqual(stream.messages()[0].params.notifications.taskIds, [begun.taskId]);
    await ann.run(box, "touch go5");
    await until("the end is heard", () => stream.messages().some(({ method, params }) => method === "notifications/tasks" && params.status === "completed"));
    stream.cut();
});

await test("cluster: job_list has the jobs of all servers at each, and a job is polled and ended at each", async () => {
    const jobs = {};
    for (const name of names)
        jobs[name] = (await at(another(name)).call("execute_terminal_command", { sandbox_id: boxes[name], command: "echo job; sleep 300", run_in_background: true })).job_id;
    assert.deepEqual(Object.values(jobs).map(node_of), names);
    for (const name of names) {
        const list = await at(name).call("job_list");
        assert.deepEqual(list.unreachable_nodes ?? [], []);
        const running = list.jobs.filter(({ state }) => state === "running").map(({ job_id }) => job_id);
        assert.deepEqual(Object.values(jobs).filter((job) => !running.includes(job)), [], "jobs are missing");
        assert.equal(new Set(running).size, running.length, "a job is there twice");
        assert.deepEqual(list.jobs.map(({ created }) => created), list.jobs.map(({ created }) => created).sort().reverse(), "not the newest first");
    }
    for (const name of names) {
        await until("it prints", async () => (await at(another(name)).call("job_poll", { job_id: jobs[name], wait: 5 })).output === "job\n");
        assert.equal((await at(third(name)).call("job_kill", { job_id: jobs[name] })).success, true);
        await until("it has ended", async () => (await at(another(name)).call("job_poll", { job_id: jobs[name] })).state === "killed");
    }
});

await test("cluster: list_sandboxes is complete at each server, in each revision and by REST", async () => {
    const ids = (value) => value.sandboxes.filter(({ name }) => name !== "default").map(({ sandbox_id }) => sandbox_id).sort();
    const all = Object.values(boxes).sort();
    for (const name of names) {
        const session = await at(name).session("2025-06-18");
        for (const value of [await at(name).call("list_sandboxes"), value_of((await reply(at(name).tool("list_sandboxes", {}))).result),
                             value_of((await reply(session.call("list_sandboxes", {}))).result)]) {
            assert.deepEqual(ids(value), all);
            assert.deepEqual(value.unreachable_nodes ?? [], []);
        }
    }
});

await test("cluster: the servers stop and leave nothing", stop);
process.exit();
