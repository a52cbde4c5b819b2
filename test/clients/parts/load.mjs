// The load tester as a gate: the server under load on every transport, and every way in which the gate must close.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { caller } from "../lib/caller.mjs";
import { start_cluster } from "../lib/cluster.mjs";
import { load, start_load } from "../lib/load.mjs";
import { start_old_server } from "../lib/old_server.mjs";
import { test, until } from "../lib/report.mjs";
import { environment, free_port, program, start_server, temporary_folder } from "../lib/server.mjs";
import { start_tls_front } from "../lib/tls_front.mjs";

// So lax that only something broken fails them: the machine may be slow and busy.
const GATE = ["--fail-if", "errors>0%", "--fail-if", "p99>30s", "--fail-if", "rps<0.1"];
const MIX = ["-c", 'system_env_var:{"var_name":"LANG"}*20', "-c", 'system_run_command:{"command":"echo hello"}*2',
             "-c", 'system_run_python:{"code":"print(1)"}'];
const LINES = 5000;
const OUTPUT = Array.from({ length: LINES }, (_, i) => `${i + 1}\n`).join("").length;
const STREAM = ["-c", `system_run_command:{"command":"seq 1 ${LINES}"}`, "--progress", "--fail-if", "first_progress.p99>30s"];
const TRANSPORTS = ["streamable", "sse", "stateless"];
const EVER = ["-d", "3600"];        // what is found before the load does not wait for its end

const server = await start_server({ settings: { BASH_ALLOWED_COMMANDS: "*" } });
const folder = temporary_folder();
const own_process = ["-t", "stdio", "--", program, "stdio"];
const own_settings = environment(folder, { BASH_ALLOWED_COMMANDS: "*" });

function passed({ code, out, err }) {
    assert.equal(code, 0, `${code}: ${err}${out}`);
    return out;
}

async function report(args, settings) {
    const run = await load(["--json", "-", ...args], settings);
    passed(run);
    return JSON.parse(run.out);
}

function gate_holds({ all, thresholds, revision }, name) {
    console.log(`# ${name} ${revision}: ${thresholds.map((each) => each.value).join(", ")}`);
    assert(all.succeeded > 0 && all.failed === 0, `${all.succeeded} succeeded, ${all.failed} failed`);
    assert.equal(thresholds.filter((each) => !each.failed).length, GATE.length / 2);
}

function streamed({ all, revision }) {
    assert.equal(all.output_bytes, all.succeeded * OUTPUT, `${revision}: ${all.output_bytes} bytes of output in ${all.succeeded} calls`);
    assert.equal(all.output_gaps, 0);
    assert.equal(all.first_progress_us.count, all.succeeded);
}

for (const transport of TRANSPORTS) {
    await test(`load ${transport}: the gate holds`, async () => {
        gate_holds(await report([server.url, "-t", transport, "-s", "8", "-d", "3", ...MIX, ...GATE]), transport);
    });
    await test(`load ${transport}: all output is streamed`, async () => {
        streamed(await report([server.url, "-t", transport, "-s", "2", "-n", "10", ...STREAM, ...GATE]));
    });
}
await test("load stdio: the gate holds", async () => {
    gate_holds(await report(["-s", "2", "-d", "3", ...MIX, ...GATE, ...own_process], own_settings), "stdio");
});
await test("load stdio: all output is streamed", async () => {
    streamed(await report(["-s", "2", "-n", "10", ...STREAM, ...GATE, ...own_process], own_settings));
});

await test("load: where nothing listens it ends at once and says where", async () => {
    const url = `http://127.0.0.1:${await free_port()}`;
    for (const transport of TRANSPORTS) {
        const { code, err } = await load([url, "-t", transport, ...EVER]);
        assert.equal(code, 1);
        assert(err.startsWith(`Nothing answers at ${url}/`) && err.includes("Connection refused"), err);
    }
    const { code, err } = await load([...EVER, "-t", "stdio", "--", "/nowhere/server"]);
    assert.equal(code, 1);
    assert(err.includes("/nowhere/server") && err.includes("No such file"), err);
});

await test("load: a tool that does not exist ends it at once, with the nearest names", async () => {
    for (const transport of TRANSPORTS) {
        const { code, err } = await load([server.url, "-t", transport, ...EVER, "-c", "tools/list", "-c", "system_env_vra"]);
        assert.equal(code, 1);
        assert(err.includes('no tool "system_env_vra"') && err.includes("system_env_var, "), err);
    }
});

await test("load: a threshold that does not hold is exit code 3 and a cross", async () => {
    const { code, out } = await load([server.url, "-n", "20", "--fail-if", "p99>1us", "--fail-if", "errors>0%"]);
    assert.equal(code, 3);
    assert.match(out, /^✗ .* fails if p99>1us$/m);
    assert.match(out, /^✓ 0\.00 % \(0 of 20 calls\) +fails if errors>0%$/m);
});

await test("load: an expression that cannot be read is refused with an example", async () => {
    const { code, err } = await load([server.url, ...EVER, "--fail-if", "p99>50"]);
    assert.equal(code, 2);
    assert(err.includes("as in 'p99>50ms'"), err);
});

const FAILING = ["-n", "20", "-c", 'system_run_command:{"command":"echo oops >&2; exit 3"}'];
for (const transport of TRANSPORTS) {
    await test(`load ${transport}: runs that fail are failures, with their first words`, async () => {
        const { code, out } = await load([server.url, "-t", transport, ...FAILING]);
        assert.equal(code, 3);
        assert.match(out, /20 x tool failed, the first: exit code 3: oops/);
        passed(await load([server.url, "-t", transport, ...FAILING, "--allow-nonzero"]));
    });
}

await test("load: without a threshold failed calls are exit code 3, and the first text is shown", async () => {
    const { code, out } = await load([server.url, "-n", "20", "-c", 'file_read:{"path":"nowhere.txt"}']);
    assert.equal(code, 3);
    assert.match(out, /20 x tool error NotFound, the first: .*nowhere\.txt/);
    assert.match(out, /^✗ 100\.00 % /m);
});

await test("load: the server's revision is taken, another than the forced one refused", async () => {
    const old = await start_old_server();
    try {
        const found = await report([old.url, "-s", "2", "-n", "20", "-c", "second", "--fail-if", "errors>0%"]);
        assert.equal(found.revision, "2025-03-26");
        const forced = await load([old.url, ...EVER, "--revision", "2025-11-25"]);
        assert.equal(forced.code, 1);
        assert(forced.err.includes("answers 2025-03-26"), forced.err);
        const none = await load([old.url, ...EVER, "-c", "third"]);
        assert.equal(none.code, 1);
        assert(none.err.includes("first, second"), none.err);
        const stateless = await load([old.url, "-t", "stateless", ...EVER]);
        assert.equal(stateless.code, 1);
        assert(stateless.err.includes("does not know the stateless revision 2026-07-28 (HTTP 400: Server not initialized)"), stateless.err);
    } finally {
        await old.stop();
    }
});

await test("load: live lines show the last second, not an average since the start", async () => {
    const old = await start_old_server({ most_calls: 100 });
    try {
        const { code, err } = await load([old.url, "-s", "2", "-d", "3.5", "--drain", "0", "-c", "first"]);
        const rates = [...err.matchAll(/^\d+ s: (\d+) calls\/s/gm)].map(([, rate]) => Number(rate));
        assert(rates.length >= 2 && rates[0] > 0 && rates.at(-1) === 0, err);
        assert.equal(code, 3);      // two of 102 calls have no answer
    } finally {
        await old.stop();
    }
});

const ENDPOINTS = {
    "an absolute path": (url, id) => `/messages?sessionId=${id}`,
    "a relative path": (url, id) => `messages?sessionId=${id}`,
    "a whole address": (url, id) => `${url}/messages?sessionId=${id}`,
};
for (const [what, endpoint] of Object.entries(ENDPOINTS)) {
    await test(`load sse: the endpoint is ${what}`, async () => {
        const old = await start_old_server({ endpoint });
        try {
            passed(await load([old.url, "-t", "sse", "-s", "2", "-n", "20", "-c", "first", "--fail-if", "errors>0%"]));
        } finally {
            await old.stop();
        }
    });
}

await test("load https: a certificate must be trusted and name the host", async () => {
    const front = await start_tls_front(server.port);
    const other = await start_tls_front(server.port, "DNS:elsewhere.example");
    try {
        const refused = await load([front.url, ...EVER]);
        assert.equal(refused.code, 1);
        assert(refused.err.includes("No secure connection") && refused.err.includes("--insecure"), refused.err);
        const wrong_name = await load([other.url, ...EVER], { SSL_CERT_FILE: other.certificate });
        assert.equal(wrong_name.code, 1);
        assert(wrong_name.err.includes("mismatch"), wrong_name.err);
        passed(await load([other.url, "--insecure", "-n", "50"]));
        for (const transport of TRANSPORTS)
            streamed(await report([front.url, "-t", transport, "-s", "2", "-n", "6", ...STREAM, ...GATE], { SSL_CERT_FILE: front.certificate }));
    } finally {
        front.stop();
        other.stop();
    }
});

await test("load: a bearer token comes from the option or the environment", async () => {
    const closed = await start_server({ settings: { MCP_AUTH_TOKENS: "tester=secret-of-the-load-test" } });
    try {
        const without = await load([closed.url, ...EVER]);
        assert.equal(without.code, 1);
        assert(without.err.includes("HTTP 401") && without.err.includes("CONTAINER_MCP_TOKEN"), without.err);
        for (const transport of TRANSPORTS) {
            const calls = ["-t", transport, "-s", "2", "-n", "20", "-c", "tools/list", "--fail-if", "errors>0%"];
            passed(await load([closed.url, ...calls, "--token", "secret-of-the-load-test"]));
            passed(await load([closed.url, ...calls], { CONTAINER_MCP_TOKEN: "secret-of-the-load-test" }));
        }
    } finally {
        await closed.stop();
    }
});

const by_name = async (...args) => (await report(["-s", "2", "-n", "20", "-c", "first", "--fail-if", "errors>0%", ...args])).served_by;
await test("load: calls are split by the server that a proxy names in X-Served-By", async () => {
    const old = await start_old_server();
    try {
        for (const transport of ["streamable", "sse"]) {
            const { old: served, ...others } = await by_name(old.url, "-t", transport);
            assert.deepEqual([served.succeeded, served.failed, served.latency_us.count], [20, 0, 20], transport);
            assert.deepEqual(others, {});
        }
    } finally {
        await old.stop();
    }
});

await test("load: an address where nothing answers at the start is named, and the others are used", async () => {
    const gone = `http://127.0.0.1:${await free_port()}`;
    const run = await load([gone, server.url, "-s", "4", "-n", "200", "--json", "-"]);
    assert(run.err.includes(`Nothing answers at ${gone}/mcp: Connection refused. The test begins with the other addresses.`), run.err);
    const [first, second] = JSON.parse(passed(run)).servers;
    assert.equal(first.succeeded, 0);
    assert(second.succeeded >= 198 && second.failed === 0, `${second.succeeded} succeeded, ${second.failed} failed`);
    const none = await load([gone, `${gone}/other`, ...EVER]);
    assert.equal(none.code, 1);
});

// ---------------------------------------------------------------- scenarios
const sandboxes_left = async () => (await new caller(server.url).call("list_sandboxes")).sandboxes.filter(({ name }) => name?.startsWith("load-"));

for (const transport of TRANSPORTS) {
    await test(`load ${transport}: a scenario makes sandboxes, uses and deletes them, and its output is whole`, async () => {
        const { all, calls, iterations } = await report([server.url, "-t", transport, "-s", "2", "-n", "4", "--scenario", "sandboxes"]);
        assert.equal(all.failed, 0);
        assert.deepEqual(Object.values(calls).map(({ succeeded }) => succeeded).sort((a, b) => a - b), [4, 4, 4, 4, 8]);
        assert.equal(calls.stream.output_bytes, 4 * 8893);
        assert.equal(iterations.succeeded, 4);
        assert.deepEqual(await sandboxes_left(), []);
    });
}
await test("load: a scenario that is cut off deletes what it made", async () => {
    const run = start_load([server.url, "-s", "3", ...EVER, "--scenario", "kernels", "--drain", "60"]);
    await until("it has made sandboxes", async () => (await sandboxes_left()).length > 0);
    run.interrupt();
    passed(await run.ended);
    assert.deepEqual(await sandboxes_left(), []);
});
await test("load: a scenario of one's own has data, stages, limits of one call and expectations", async () => {
    const own = path.join(folder, "own.json");
    fs.writeFileSync(path.join(folder, "words.csv"), 'word\n"one, two"\nthree\n');
    const write = (expect) => fs.writeFileSync(own, JSON.stringify({
        name: "own", data: "words.csv", stages: [{ seconds: 0.5, rate: 4, to: 20 }, { seconds: 0.5, rate: 20 }],
        steps: [{ name: "say", call: "system_run_command", arguments: { command: "echo '{{word}}' {{n}}" }, expect }, { call: "ping" }],
        fail_if: ["say.p99>30s", "ping.errors>0%", "iteration.p99>60s"],
    }));
    write("one");
    const { code, out } = await load([server.url, "-s", "2", "--scenario", own, "--json", "-"]);
    const { calls, thresholds, iterations } = JSON.parse(out);
    assert.equal(code, 0);
    assert.equal(thresholds.length, 3);
    assert(calls.say.errors["not as the scenario expects"] > 0 && calls.say.succeeded > 0, out);
    assert.equal(calls.ping.succeeded, calls.say.succeeded);
    assert(iterations.errors["a step failed"] > 0 && iterations.succeeded === calls.ping.succeeded, out);
});
await test("load: a scenario or a limit that is wrong ends it at once", async () => {
    for (const [args, part] of [[["--scenario", "nowhere"], "ready scenarios are sandboxes"], [["--scenario", "streams", "-c", "ping"], "exclude each other"],
                                [["--scenario", "streams", "--fail-if", "nothing.p99>1s"], "there is no call nothing"], [["--compare", "/nowhere.json"], "no report"]]) {
        const { code, err } = await load([server.url, ...EVER, ...args]);
        assert(code === 2 && err.includes(part), `${code} ${err}`);
    }
});
await test("load: a comparison says what is the same and what is slower, and CI gets it", async () => {
    const [earlier, faster, junit, markdown] = ["earlier.json", "faster.json", "junit.xml", "report.md"].map((name) => path.join(folder, name));
    const args = [server.url, "-c", "ping", "-s", "2", "-d", "8"];
    passed(await load([...args, "--json", earlier]));
    const before = JSON.parse(fs.readFileSync(earlier, "utf8"));
    assert(before.series.length >= 6, `${before.series.length} seconds`);
    // A test that was a thousand times faster, which no noise of this machine can explain.
    for (const second of before.series) {
        second.succeeded *= 1000;
        for (const times of [second, second.calls_p50_us]) for (const key of Object.keys(times)) if (/^p\d|ping/.test(key)) times[key] /= 1000;
    }
    fs.writeFileSync(faster, JSON.stringify(before));
    const { code, out } = await load([...args, "--compare", faster, "--junit", junit, "--markdown", markdown]);
    assert.equal(code, 3, out);
    assert.match(out, /✗ calls\/s: .*: fewer/);
    assert.match(out, /✗ p50: .*: slower/);
    assert.match(fs.readFileSync(junit, "utf8"), /tests="4" failures="[23]"[^]*<failure message="p50: /);
    assert.match(fs.readFileSync(markdown, "utf8"), /\| ping \| \d+ \| 0 \|[^]*- ✗ p50: /);
    const several = await load([...args, "--compare", faster, "--compare", earlier, "--json", "-"]);
    assert.equal(JSON.parse(several.out).compared.length, 3);
});

// ---------------------------------------------------------------- two servers, of which one is killed
const TOKEN = { CONTAINER_MCP_TOKEN: "b".repeat(32) };
const pair = await start_cluster({ names: ["n1", "n2"], settings: { MCP_AUTH_TOKENS: `ann=${TOKEN.CONTAINER_MCP_TOKEN}`, BASH_ALLOWED_COMMANDS: "*" } });
const [stays, dies] = pair.nodes;
const { sandbox_id } = await new caller(dies.url, TOKEN.CONTAINER_MCP_TOKEN).call("create_sandbox");
const CALLS = ["-c", "tools/list*4", "-c", `execute_terminal_command:${JSON.stringify({ sandbox_id, command: "true" })}`,
               "-H", `Mcp-Param-Sandbox-Id: ${sandbox_id}`];

/// The sum of a counter's rows that have all of `labels`; 0 where nothing answers.
async function counted(node, name, ...labels) {
    const answer = await new caller(node.url, TOKEN.CONTAINER_MCP_TOKEN).get("/metrics").catch(() => null);
    const rows = answer ? (await answer.text()).split("\n").filter((line) => line.startsWith(`${name}{`)) : [];
    return rows.filter((row) => labels.every((label) => row.includes(label))).reduce((sum, row) => sum + Number(row.split(" ").at(-1)), 0);
}
const lists = (node) => counted(node, "cmcp_requests_total", '"tools/list"');
const unreached = () => counted(stays, "cmcp_member_requests_total", '"n2"', '"failed"');

async function grows(what, figure) {
    const before = await figure();
    await until(what, async () => await figure() > before);
}

async function load_while_one_dies(transport) {
    const file = path.join(folder, `${transport}.json`);
    const run = start_load([stays.url, dies.url, "-t", transport, "-s", "8", ...EVER, ...CALLS, "--json", file, "--fail-if", "p99>30s"], TOKEN);
    await Promise.all(pair.nodes.map((node) => grows(`${node.name} is called`, () => lists(node))));
    await dies.kill();
    await grows("the other server misses it", unreached);
    await grows("the other server is called on", () => lists(stays));
    await dies.start();
    await grows("clients come back", () => lists(dies));
    run.interrupt();
    const out = passed(await run.ended);
    return { out, ...JSON.parse(fs.readFileSync(file, "utf8")) };
}

const sum = (rows, figure) => rows.reduce((all, row) => all + row[figure], 0);

for (const transport of TRANSPORTS) {
    await test(`load ${transport}: one of two servers is killed and comes back, and the report says where what failed`, async () => {
        const { out, all, servers } = await load_while_one_dies(transport);
        const [first, second] = servers;
        assert.deepEqual(servers.map(({ address }) => new URL(address).origin), [stays.url, dies.url]);
        assert.equal(sum(servers, "succeeded"), all.succeeded);
        assert.equal(sum(servers, "failed"), all.failed);
        assert(first.errors["tool error NodeUnreachable"] > 0, JSON.stringify(first.errors));
        assert(!Object.keys(first.errors).some((kind) => kind.startsWith("connect")), JSON.stringify(first.errors));
        assert(Object.keys(second.errors).some((kind) => /^connection (closed|reset)$/.test(kind)), JSON.stringify(second.errors));
        const refused = (second.errors["connect: Connection refused"] ?? 0) + (second.opening_errors["connect: Connection refused"] ?? 0);
        assert(refused < 50, `${refused} connections were refused`);     // none where all find the other server first
        assert(out.includes(`\n${stays.url}/`) && out.includes(`\n${dies.url}/`), out);
        assert.match(out, /^  calls: \d+ x tool error NodeUnreachable, the first: .*n2/m);
    });
}
await test("load: both servers stop and leave nothing", () => pair.stop());

await test("load: the server stops and leaves nothing", () => server.stop());
process.exit();
