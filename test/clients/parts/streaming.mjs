// Usage: streaming.mjs [KIND…] — output arrives while the run goes on, and cancelling ends every process of it, for each kind of client.
import assert from "node:assert/strict";
import { KINDS } from "../lib/clients.mjs";
import { end, with_marker } from "../lib/processes.mjs";
import { test, until } from "../lib/report.mjs";
import { start_server } from "../lib/server.mjs";
import { good } from "../lib/shapes.mjs";

const settings = { BASH_ALLOWED_COMMANDS: "*" };
const LINES = Array.from({ length: 30 }, (_, i) => `line ${i}\n`).join("");
const RUNS = {
    system_run_command: { command: "for ((i = 0; i < 30; i++)); do echo line $i; sleep 0.1; done" },
    system_run_python: { code: "import time\nfor i in range(30):\n    print('line', i)\n    time.sleep(0.1)" },
};

/// No tight limits: the machine may be busy. What counts is that the text came in pieces and long before the result.
async function streams(client, tool) {
    const arrivals = [];
    const onprogress = ({ progress, message, _meta }) => arrivals.push({ at: Date.now(), progress, message, _meta });
    const value = good(tool, await client.call(tool, RUNS[tool], { onprogress }));
    const end = Date.now();
    const texts = arrivals.filter(({ message }) => message);
    assert.equal(value.stdout ?? value.output, LINES);
    const joined = texts.map(({ message }) => message).join("");
    // The v1 client drops a notification that it reads together with the result, so the last pieces may be missing.
    assert(LINES.startsWith(joined) && joined.length > LINES.length - 40, `the pieces are not the output: ${JSON.stringify(joined)}`);
    let offset = 0;
    for (const { message, _meta } of texts) {
        assert.deepEqual(_meta, { "container-mcp/stream": "stdout", "container-mcp/offset": offset });
        offset += Buffer.byteLength(message);
    }
    assert(texts.length >= 10, `only ${texts.length} arrivals`);
    const spread = texts.at(-1).at - texts[0].at;
    assert(spread > 2000, `all within ${spread} ms`);
    assert(end - texts[0].at > 2000, `the first came ${end - texts[0].at} ms before the result`);
    const steps = arrivals.map(({ progress }) => progress);
    assert(steps.every((step, i) => i === 0 || step > steps[i - 1]), `progress does not rise: ${steps}`);
}

const tree = (marker) => `(exec -a ${marker} sleep 300) & (setsid -f bash -c 'exec -a ${marker} sleep 300'); exec -a ${marker} sleep 300`;

async function cancels(client) {
    const marker = `cmcp-cancel-${process.pid}-${Date.now()}`;
    const control = new AbortController();
    const call = client.call("system_run_command", { command: tree(marker), timeout: 100 }, { signal: control.signal });
    const outcome = call.then(() => "a result", () => "rejected");
    await until("three processes run", () => with_marker(marker).length >= 3);
    control.abort("no longer wanted");
    assert.equal(await outcome, "rejected");
    await until("the processes end", () => !with_marker(marker).length).finally(() => end(with_marker(marker)));
    const after = good("system_run_command", await client.call("system_run_command", { command: "echo alive" }));
    assert.equal(after.stdout, "alive\n");
}

async function closing_ends_runs(kind) {
    const marker = `cmcp-close-${process.pid}-${Date.now()}`;
    const client = await kind.connect({ settings });
    client.call("system_run_command", { command: `exec -a ${marker} sleep 300`, timeout: 100 }).catch(() => {});
    await until("the process runs", () => with_marker(marker).length > 0);
    await client.close();
    await until("the process ends", () => !with_marker(marker).length).finally(() => end(with_marker(marker)));
}

const wanted = process.argv.slice(2);
for (const [name, kind] of Object.entries(KINDS).filter(([each]) => !wanted.length || wanted.includes(each))) {
    const server = kind.stdio ? null : await start_server({ settings });
    let client;
    if (await test(`streaming ${name}: connects`, async () => { client = await kind.connect({ url: server?.url, settings }); })) {
        for (const tool of Object.keys(RUNS)) await test(`streaming ${name}: ${tool} arrives line by line`, () => streams(client, tool));
        await test(`streaming ${name}: cancelling ends the whole process tree`, () => cancels(client));
        await test(`streaming ${name}: closes`, () => client.close());
    }
    if (kind.stdio) await test(`streaming ${name}: closing the client ends its runs`, () => closing_ends_runs(kind));
    else await test(`streaming ${name}: the server stops and leaves nothing`, () => server.stop());
}
process.exit();
