// A lost connection means what the caller's revision says: 2026-07-28 cancels, the older ones run on and can resume.
import assert from "node:assert/strict";
import { end, with_marker } from "../lib/processes.mjs";
import { test, until } from "../lib/report.mjs";
import { start_server } from "../lib/server.mjs";
import { legacy_session, modern_headers, MODERN_META, open, tool_call } from "../lib/wire.mjs";

const server = await start_server({ settings: { BASH_ALLOWED_COMMANDS: "*" } });
const url = `${server.url}/mcp`;
const counting = (n, pause) => ({ command: `for ((i = 0; i < ${n}; i++)); do echo line $i; sleep ${pause}; done` });
const text = (messages) => messages.filter((m) => m.method === "notifications/progress").map((m) => m.params.message ?? "").join("");
const marked = (name) => `cmcp-${name}-${process.pid}`;

await test("disconnect 2026-07-28: the run and its processes are ended", async () => {
    const marker = marked("modern");
    const body = tool_call(1, "system_run_command", { command: `exec -a ${marker} sleep 300`, timeout: 100 }, MODERN_META);
    const call = open(url, { headers: modern_headers("system_run_command"), body });
    await until("the process runs", () => with_marker(marker).length > 0);
    call.cut();
    await until("the process ends", () => !with_marker(marker).length);
});

await test("disconnect 2025-11-25: the run goes on; cancelled by a notification it ends", async () => {
    const marker = marked("legacy");
    const { headers } = await legacy_session(server.url);
    const call = open(url, { headers, body: tool_call(7, "system_run_command", { command: `exec -a ${marker} sleep 300`, timeout: 100 }) });
    await until("the process runs", () => with_marker(marker).length > 0);
    call.cut();
    await new Promise((done) => setTimeout(done, 1000));
    assert(with_marker(marker).length > 0, "the run was ended by the disconnect");
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7, reason: "test" } };
    await open(url, { headers, body: cancelled }).ended;
    await until("the process ends", () => !with_marker(marker).length);
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
    await until("the result arrives", () => stream.messages().some((m) => "result" in m || "error" in m));
    await new Promise((done) => setTimeout(done, 300));     // whatever else would be sent too much
    stream.cut();
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
    await new Promise((done) => setTimeout(done, 3000));
    exactly_the_rest(12, 15, seen, await resume(headers, last));
});

await test("resume 2025-11-25: another session's event id is not honoured", async () => {
    const { last } = await cut_run(13, 10, 0.1);
    const { headers } = await legacy_session(server.url);
    const stream = open(url, { method: "GET", headers: { ...headers, Accept: "text/event-stream", "Last-Event-ID": last } });
    await until("an answer", () => stream.status() !== 0);
    await new Promise((done) => setTimeout(done, 1500));
    stream.cut();
    assert(!JSON.stringify(stream.messages()).includes("line "), "output of another session was replayed");
});

end(["modern", "legacy"].flatMap((name) => with_marker(marked(name))));
await test("disconnect: the server stops and leaves nothing", () => server.stop());
process.exit();
