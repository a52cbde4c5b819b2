// Usage: streaming.mjs [KIND…] — output arrives while the run waits for that, and cancelling ends its processes, for each kind of client.
import assert from "node:assert/strict";
import { KINDS } from "../lib/clients.mjs";
import { end, with_marker } from "../lib/processes.mjs";
import { test, until } from "../lib/report.mjs";
import { start_server } from "../lib/server.mjs";
import { good } from "../lib/shapes.mjs";

const settings = { BASH_ALLOWED_COMMANDS: "*" };
const LINES = Array.from({ length: 30 }, (_, i) => `line ${i}\n`).join("");
// A run goes on beyond these lines only when a file says that they have come.
const WAITS_AFTER = [9, 19];
const RUNS = {
    system_run_command: { command: "for ((i = 0; i < 30; i++)); do echo line $i; case $i in 9 | 19) until [ -e go-$i.txt ]; do sleep 0.02; done; rm go-$i.txt ;; esac; done" },
    system_run_python: { code: `import os, time
for i in range(30):
    print('line', i)
    if i in (9, 19):
        while not os.path.exists(f'go-{i}.txt'): time.sleep(0.02)
        os.remove(f'go-{i}.txt')` },
};

async function streams(client, tool) {
    const arrivals = [], missing = [...WAITS_AFTER], written = [];
    let text = "";
    const onprogress = ({ progress, message, _meta }) => {
        arrivals.push({ progress, message, _meta });
        text += message ?? "";
        if (text.includes(`line ${missing[0]}\n`)) written.push(client.call("file_write", { path: `go-${missing.shift()}.txt`, content: "" }));
    };
    const value = good(tool, await client.call(tool, RUNS[tool], { onprogress }));
    for (const result of await Promise.all(written)) good("file_write", result);
    const texts = arrivals.filter(({ message }) => message);
    assert.equal(value.stdout ?? value.output, LINES);
    const joined = texts.map(({ message }) => message).join("");
    // The v1 client drops a notification that it reads together with the result, so what comes behind the last wait may be missing.
    assert(LINES.startsWith(joined) && joined.includes(`line ${WAITS_AFTER.at(-1)}\n`), `the pieces are not the output: ${JSON.stringify(joined)}`);
    let offset = 0;
    for (const { message, _meta } of texts) {
        assert.deepEqual(_meta, { "container-mcp/stream": "stdout", "container-mcp/offset": offset });
        offset += Buffer.byteLength(message);
    }
    const steps = arrivals.map(({ progress }) => progress);
    assert(steps.every((step, i) => i === 0 || step > steps[i - 1]), `progress does not rise: ${steps}`);
}

/// The call's own processes, and one that has made itself independent of it. No text of a shell has the names that they get.
const tree = (marker) => `m=${marker}; (exec -a $m-own sleep 300) & m=$m setsid -f bash -c 'exec -a $m-apart sleep 300'; exec -a $m-own sleep 300`;
const own = (marker) => with_marker(`${marker}-own`);
const apart = (marker) => with_marker(`${marker}-apart`);
const marked = (name) => `cmcp-${name}-${process.pid}-${Date.now()}`;
const begun = (marker) => until("three processes run", () => own(marker).length === 2 && apart(marker).length === 1);

/// The second tool's call would go on as a job when its time is over, the first one's is ended then.
const LONG = ["system_run_command", "execute_terminal_command"];

async function cancels(client, tool, marker) {
    const control = new AbortController();
    const call = client.call(tool, { command: tree(marker), timeout: 100 }, { signal: control.signal });
    const outcome = call.then(() => "a result", () => "rejected");
    await begun(marker);
    control.abort("no longer wanted");
    assert.equal(await outcome, "rejected");
    await until("the processes end", () => !own(marker).length);
    assert.equal(apart(marker).length, 1, "what setsid began ended, too");
    const after = good("system_run_command", await client.call("system_run_command", { command: "echo alive" }));
    assert.equal(after.stdout, "alive\n");
}

async function becomes_job(client, marker) {
    const call = await client.call("execute_terminal_command", { command: tree(marker), timeout: 2 });
    const { job_id } = call.structuredContent;
    assert(job_id, JSON.stringify(call));
    await begun(marker);
    await client.call("job_kill", { job_id });
    assert.equal(own(marker).length, 0, "a process outlives its job");
}

async function closing_ends_runs(kind, tool, marker) {
    const client = await kind.connect({ settings });
    client.call(tool, { command: tree(marker), timeout: 100 }).catch(() => {});
    await begun(marker);
    await client.close();
    await until("the processes end", () => !with_marker(marker).length);
}

const wanted = process.argv.slice(2);
for (const [name, kind] of Object.entries(KINDS).filter(([each]) => !wanted.length || wanted.includes(each))) {
    const server = kind.stdio ? null : await start_server({ settings });
    const marker = marked("left");
    let client;
    if (await test(`streaming ${name}: connects`, async () => { client = await kind.connect({ url: server?.url, settings }); })) {
        for (const tool of Object.keys(RUNS)) await test(`streaming ${name}: ${tool} arrives line by line`, () => streams(client, tool));
        for (const tool of LONG)
            await test(`streaming ${name}: cancelling ${tool} ends its processes, but what setsid began`, () => cancels(client, tool, `${marker}-${tool}`));
        await test(`streaming ${name}: a call that has become a job ends with the job`, () => becomes_job(client, `${marker}-job`));
        await test(`streaming ${name}: closes`, () => client.close());
    }
    if (!kind.stdio) await test(`streaming ${name}: the server stops and leaves nothing`, () => server.stop());
    await test(`streaming ${name}: what setsid began ends with the server`, () => until("it ends", () => !with_marker(marker).length));
    end(with_marker(marker));
    for (const tool of kind.stdio ? LONG : []) {
        const closed = marked("close");
        await test(`streaming ${name}: closing the client ends its ${tool}`, () => closing_ends_runs(kind, tool, closed));
        end(with_marker(closed));
    }
}
process.exit();
