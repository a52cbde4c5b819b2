// A lost connection means what the caller's revision says: 2026-07-28 cancels, the older ones run on and can resume; REST cancels.
// What has become a job is ended by nothing of this.
import assert from "node:assert/strict";
import { end, with_marker } from "../lib/processes.mjs";
import { test, until } from "../lib/report.mjs";
import { start_server } from "../lib/server.mjs";
import { legacy_session, modern_headers, MODERN_META, open, tool_call } from "../lib/wire.mjs";

const server = await start_server({ settings: { BASH_ALLOWED_COMMANDS: "*" } });
const url = `${server.url}/mcp`;
const counting = (n, pause) => ({ command: `for ((i = 0; i < ${n}; i++)); do echo line $i; sleep ${pause}; done` });
const text = (messages) => messages.filter((m) => m.method === "notifications/progress").map((m) => m.params.message ?? "").join("");
const health = async () => (await fetch(`${server.url}/healthz?verbose`)).json();
const marked = (name) => `cmcp-${name}-${process.pid}`;

/// The call of a tool whose process has the name `marker`, once that runs.
async function running(tool, marker, headers, meta) {
    const body = tool_call(7, tool, { command: `m=${marker}; exec -a $m-runs sleep 300`, timeout: 100 }, meta);
    const call = open(url, { headers, body });
    await until("the process runs", () => with_marker(`${marker}-runs`).length > 0);
    return call;
}

const cancel = (headers) =>
    open(url, { headers, body: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7, reason: "test" } } }).ended;

// The second one's call would go on as a job when its time is over.
for (const tool of ["system_run_command", "execute_terminal_command"]) {
    const marker = marked(tool);
    const none = () => until("the process ends", () => !with_marker(marker).length);

    await test(`disconnect 2026-07-28: the process of ${tool} is ended`, async () => {
        (await running(tool, marker, modern_headers(tool), MODERN_META)).cut();
        await none();
    });

    await test(`disconnect 2025-11-25: ${tool} goes on; cancelled by a notification it ends`, async () => {
        const { headers } = await legacy_session(server.url);
        const call = await running(tool, marker, headers);
        const { connections } = await health();
        call.cut();
        // Of several servers each answers for its own connections.
        if (!process.env.CMCP_SERVE) await until("the server sees that the client is gone", async () => (await health()).connections < connections);
        assert(with_marker(marker).length > 0, "the run was ended by the disconnect");
        await cancel(headers);
        await none();
    });

    await test(`disconnect 2025-11-25: the end of the session ends ${tool}`, async () => {
        const { headers } = await legacy_session(server.url);
        await running(tool, marker, headers);
        await open(url, { method: "DELETE", headers }).ended;
        await none();
    });

    await test(`disconnect REST: the process of ${tool} is ended`, async () => {
        const body = { command: `m=${marker}; exec -a $m-runs sleep 300`, timeout: 100 };
        const call = open(`${server.url}/mcp/tools/${tool}`, { body });
        await until("the process runs", () => with_marker(`${marker}-runs`).length > 0);
        call.cut();
        await none();
    });
    end(with_marker(marker));
}

async function result_of(headers, id, name, args) {
    const call = open(url, { headers, body: tool_call(id, name, args) });
    await call.ended;
    return (call.events.length ? call.messages() : [call.json()]).find((message) => "result" in message).result.structuredContent;
}

await test("disconnect 2025-11-25: what has become a job outlives a cancellation of its call and its session, and ends by job_kill", async () => {
    const marker = marked("job");
    const first = await legacy_session(server.url);
    const { job_id } = await result_of(first.headers, 7, "execute_terminal_command", { command: `exec -a ${marker} sleep 300`, timeout: 1 });
    await cancel(first.headers);
    await open(url, { method: "DELETE", headers: first.headers }).ended;
    const { headers } = await legacy_session(server.url);
    assert.equal((await result_of(headers, 8, "job_poll", { job_id })).state, "running");
    assert.equal((await result_of(headers, 9, "job_kill", { job_id })).state, "killed");
    assert.equal(with_marker(marker).length, 0);
});

/// Cuts a run's stream after five lines; gives the events seen and the session.
async function cut_run(id, lines, pause) {
    const { headers } = await legacy_session(server.url);
    const call = open(url, { headers, body: tool_call(id, "system_run_command", counting(lines, pause)) });
    await until("five lines arrive", () => text(call.messages()).split("\n").length > 5);
    call.cut();
    await call.ended;
    const seen = [...call.events];
    assert(seen.every((event) => event.id), "an event has no id to resume from");
    return { headers, seen, last: seen.at(-1).id };
}

async function resume(headers, last) {
    const stream = open(url, { method: "GET", headers: { ...headers, Accept: "text/event-stream", "Last-Event-ID": last } });
    await stream.ended;
    return stream.events;
}

function exactly_the_rest(id, lines, seen, missed) {
    const expected = Array.from({ length: lines }, (_, i) => `line ${i}\n`).join("");
    const ids = [...seen, ...missed].map((event) => event.id);
    assert.equal(new Set(ids).size, ids.length, "an event id comes twice");
    const messages = (events) => events.map(({ data }) => data).filter(Boolean);
    assert.equal(text(messages(seen)) + text(messages(missed)), expected, "the pieces before and after are not the output");
    const results = messages(missed).filter((m) => "result" in m);
    assert.deepEqual(results.map((m) => m.id), [id], "not exactly one result");
    assert.equal(results[0].result.structuredContent.stdout, expected);
}

await test("resume 2025-11-25: a GET with Last-Event-ID while the run goes on gets exactly the missed events and the result", async () => {
    const { headers, seen, last } = await cut_run(11, 25, 0.1);
    exactly_the_rest(11, 25, seen, await resume(headers, last));
});

await test("resume 2025-11-25: the same after the run has ended", async () => {
    const { headers, seen, last } = await cut_run(12, 15, 0.1);
    await until("the run has ended", async () => (await health()).requests_in_flight === 0);
    exactly_the_rest(12, 15, seen, await resume(headers, last));
});

await test("resume 2025-11-25: another session's event id is not honoured", async () => {
    const { last } = await cut_run(13, 10, 0.1);
    const { headers } = await legacy_session(server.url);
    const stream = open(url, { method: "GET", headers: { ...headers, Accept: "text/event-stream", "Last-Event-ID": last } });
    await stream.ended;
    assert.equal(stream.status(), 400);
    assert.deepEqual(stream.events, []);
});

end(with_marker(marked("job")));
await test("disconnect: the server stops and leaves nothing", () => server.stop());
process.exit();
