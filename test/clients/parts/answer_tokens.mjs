// What answers cost a model: the text that a client which shows text alone gives it, as a tokenizer counts it.
//   answer_tokens.mjs [--print]      --print: each answer with its tokens
import assert from "node:assert/strict";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { test } from "../lib/report.mjs";
import { start_server } from "../lib/server.mjs";

const server = await start_server();
const HEADERS = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

async function ask(method, params, headers = {}) {
    const answer = await fetch(`${server.url}/mcp`, { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }), headers: { ...HEADERS, ...headers } });
    const text = await answer.text();
    const { result, error } = JSON.parse(text.match(/^data: (\{.*)$/m)?.[1] ?? text);
    assert(result, JSON.stringify(error));
    return { result, session: answer.headers.get("mcp-session-id") };
}

const { session } = await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "claude-code", version: "2" } });
const IN_SESSION = { "Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25" };

/// What the model reads of a call, and the tokens of it.
async function call(name, args) {
    const { result } = await ask("tools/call", { name, arguments: args }, IN_SESSION);
    assert.equal(result.structuredContent, undefined);
    assert(result.content.every((block) => block.type === "text" || block.type === "image"), JSON.stringify(result.content).slice(0, 300));
    const text = result.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
    const tokens = encode(text).length;
    if (process.argv.includes("--print")) console.log(`# ${name}, ${tokens} tokens\n${text.replace(/^/gm, "#   ")}`);
    return { text, tokens };
}

const made = await call("create_sandbox", { name: "costs" });
const sandbox_id = made.text.match(/sbx_\w+/)[0];
const shell = (command, more = {}) => call("execute_terminal_command", { sandbox_id, command, ...more });

async function costs(what, most, answer, ...parts) {
    await test(`answers: ${what} costs at most ${most} tokens`, async () => {
        const { text, tokens } = await answer();
        for (const part of parts) assert.match(text, part);
        assert(tokens <= most, `${tokens} tokens: ${text}`);
    });
}

await costs("a new sandbox", 60, async () => made, /working_dir/);
await costs("a test run that passes, with its cache", 30,
    () => shell("mkdir -p .pytest_cache/v/cache __pycache__; for i in 1 2 3 4 5 6; do echo $i > .pytest_cache/v/cache/$i; echo $i > __pycache__/$i.pyc; done; echo '2 passed in 0.03s'"), /^2 passed in 0\.03s\n$/);
await costs("a virtual environment", 30, () => shell("python3 -m venv --without-pip v && echo made"), /^made/);
await costs("a command without output", 10, () => shell("true"), /no output/);
await costs("50 new files", 300, () => shell("mkdir -p results; for i in $(seq 50); do echo $i > results/of_step_$i.csv; done"), /^files: results\/of_step_1\.csv, /, / and \d+ more$/);
await costs("1,336 new files", 300, () => shell("mkdir -p many; for i in $(seq 1336); do echo $i > many/$i.txt; done"), / and 1,\d\d\d more$/);
await costs("a progress bar of 300 steps", 20, () => shell("for i in $(seq 300); do printf '\\rprogress %d%%' $((i / 3)); done; echo"), /^progress 100%\n$/);
await costs("coloured output", 10, () => shell("printf '\\033[1;32mok\\033[0m\\n'"), /^ok\n$/);
await costs("a binary file that is printed", 50, () => shell("head -c 7000 /usr/bin/env"), /binary output, 7,000 bytes, in \.outputs\//);
await costs("a list of 90 files", 800, async () => {
    await shell("mkdir -p listed; for i in $(seq 90); do head -c $((i * 37)) /dev/zero > listed/fetch_problem_$i.hpp; done");
    return call("file_list", { sandbox_id, path: "listed" });
}, /^37 {2}fetch_problem_1\.hpp$/m);
await costs("a file that is read", 8, async () => {
    await call("file_write", { sandbox_id, path: "short.txt", content: "hello\n" });
    return call("file_read", { sandbox_id, path: "short.txt" });
}, /^hello\n$/);

const job_in = (text) => text.match(/job_\w+_[0-9a-f]{32}/)?.[0] ?? assert.fail(`no job: ${text}`);

await test("answers: a job of 100 lines is followed to its end by at most 3 polls and 2,000 tokens", async () => {
    const begun = await shell("for i in $(seq 100); do echo step $i of 100 is done; sleep 0.03; done", { run_in_background: true });
    const job_id = job_in(begun.text);
    let { tokens } = begun, polls = 0, cursor = 0, printed = "";
    for (let text = ""; !/^finished$/m.test(text); ++polls) {
        const polled = await call("job_poll", { job_id, cursor, until: "end", wait: 60 });
        ({ text } = polled);
        tokens += polled.tokens;
        cursor = Number(text.match(/cursor: (\d+)$/m)?.[1] ?? cursor);
        printed += text.replace(/^(running|finished).*$/gm, "");
    }
    assert.equal(printed.match(/step \d+ of 100/g).length, 100);
    assert(polls <= 3 && tokens <= 2000, `${polls} polls, ${tokens} tokens`);
});

await test("answers: a call that takes longer than its time says what was printed and how to read on, in 120 tokens", async () => {
    await shell("rm -f go; mkfifo go");
    const begun = await shell("echo begun; cat go; echo done", { timeout: 1 });
    assert.match(begun.text, /^begun\n/);
    assert.match(begun.text, /job_poll.*job_kill/);
    assert(begun.tokens <= 120, `${begun.tokens} tokens: ${begun.text}`);
    await shell("echo > go");
    const cursor = Number(begun.text.match(/cursor: (\d+)/)[1]);
    assert.equal((await call("job_poll", { job_id: job_in(begun.text), cursor, until: "end" })).text, "\ndone\nfinished");
});

await test("answers: resources/read of a long text comes in parts, each with the address of the next", async () => {
    await shell("seq 100000 > long.txt");
    const read = async (uri) => (await ask("resources/read", { uri }, IN_SESSION)).result.contents[0];
    const all = Array.from({ length: 100_000 }, (_, i) => `${i + 1}\n`).join("");
    const first = await read(`sandbox://${sandbox_id}/long.txt`);
    assert(first.text.length < 25_000, `${first.text.length} characters`);
    const [, next, offset] = first.text.match(/\n\[\.\.\. \d+ of 588895 bytes left out here; read on with (sandbox:\S+\?offset=(\d+)) \.\.\.\]$/);
    const second = await read(`${next}&limit=500000`);
    assert.equal(first.text.slice(0, Number(offset)) + second.text, all.slice(0, Number(offset) + 500_000));
    assert.deepEqual(second._meta, { size: 588_895, next_offset: Number(offset) + 500_000 });
    const last = await read(`${next.replace(/\d+$/, second._meta.next_offset)}`);
    assert(last.text.length <= 24 << 10 && !last.text.includes("left out"), last.text.slice(-200));
});

await server.stop();
