// What answers cost a model: the text that a client which shows text alone gives it, as a tokenizer counts it.
//   answer_tokens.mjs [--print]      --print: each answer with its tokens
import assert from "node:assert/strict";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { test } from "../lib/report.mjs";
import { start_server } from "../lib/server.mjs";

const server = await start_server();
const HEADERS = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

async function ask(method, params, headers = {}, query = "") {
    const answer = await fetch(`${server.url}/mcp${query}`, { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }), headers: { ...HEADERS, ...headers } });
    const text = await answer.text();
    const { result, error } = JSON.parse(text.match(/^data: (\{.*)$/m)?.[1] ?? text);
    assert(result, JSON.stringify(error));
    return { result, session: answer.headers.get("mcp-session-id") };
}

const HELLO = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "claude-code", version: "2" } };
const in_session = (id) => ({ "Mcp-Session-Id": id, "MCP-Protocol-Version": "2025-11-25" });
const IN_SESSION = in_session((await ask("initialize", HELLO)).session);

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

await test("answers: a plot of system_run_python is an image", async () => {
    const draw = "import struct, zlib\ndef chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))\n"
        + "open('dot.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 1, 1, 8, 0, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(b'\\0\\xff')) + chunk(b'IEND', b''))\n_ = None";
    const { result } = await ask("tools/call", { name: "system_run_python", arguments: { code: draw } }, IN_SESSION);
    assert.deepEqual(result.content.filter((block) => block.type === "image").map((block) => block.mimeType), ["image/png"]);
    assert.match(result.content.find((block) => block.type === "text").text, /files: dot\.png/);
});

await test("answers: the profile agent works as its instructions say, without a handle", async () => {
    const QUERY = "?profile=agent";
    const begun = await ask("initialize", HELLO, {}, QUERY);
    const AGENT = in_session(begun.session);
    assert.match(begun.result.instructions, /^You have a sandbox\. execute_terminal_command, execute_python_code and file_\* work in it, on the same files/);
    const { tools } = (await ask("tools/list", {}, AGENT, QUERY)).result;
    const with_handle = tools.filter((tool) => "sandbox_id" in tool.inputSchema.properties).map((tool) => tool.name);
    assert.deepEqual(with_handle.filter((name) => name !== "web_browse"), []);
    const use = async (name, args) => {
        assert(tools.some((tool) => tool.name === name), `${name} is not shown`);
        const { result } = await ask("tools/call", { name, arguments: args }, AGENT, QUERY);
        const text = result.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
        assert(!result.isError, `${name}: ${text}`);
        return text;
    };
    await use("file_write", { path: "sales.csv", content: "a,1\nb,2\n" });
    await use("file_write", { path: "app.js", content: "console.log(1)\n" });
    assert.equal(await use("execute_terminal_command", { command: "cat sales.csv" }), "a,1\nb,2\n");
    assert.equal(await use("execute_python_code", { code: "print(open('sales.csv').read().count(','))" }), "2\n");
    await use("execute_python_code", { code: "total = 3", stateful: true });
    assert.equal(await use("execute_python_code", { code: "total", stateful: true }), "result: 3");
    assert.match(await use("file_edit", { path: "sales.csv", edits: [{ old_text: "b,2", new_text: "b,5" }] }), /\+b,5/);
    assert.match(await use("file_list", {}), /^8 {2}sales\.csv$/m);
    assert.match(await use("file_search", { pattern: "b,\\d" }), /sales\.csv:2: b,5/);
    await use("execute_terminal_command", { command: "rm -f hold; mkfifo hold" });
    const job_id = job_in(await use("execute_terminal_command", { command: "cat hold; echo over", timeout: 1 }));
    await use("execute_terminal_command", { command: "echo > hold" });
    assert.match(await use("job_poll", { job_id, until: "end" }), /over\nfinished$/);
    const other = job_in(await use("execute_terminal_command", { command: "exec sleep 1000", run_in_background: true }));
    assert.match(await use("job_kill", { job_id: other }), /killed/);
});

await server.stop();
