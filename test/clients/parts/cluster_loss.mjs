// A server of a cluster is lost and comes back; HAProxy stands before the servers; what it costs to pass a call on; and all servers
// are administered at one of them, also in a browser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { by_turns } from "../lib/by_turns.mjs";
import { progress, reply } from "../lib/caller.mjs";
import { node_of } from "../lib/cluster.mjs";
import { start_rig } from "../lib/cluster_rig.mjs";
import { haproxy, is_debian, start_haproxy } from "../lib/haproxy.mjs";
import { test, until } from "../lib/report.mjs";
import { environment, program } from "../lib/server.mjs";
import { open_shell } from "../lib/shell_socket.mjs";
import { open } from "../lib/wire.mjs";

const { cluster, names, at, boxes, stop } = await start_rig({ AUTH_ADMINS: "ann" });
const ids = (value) => value.sandboxes.map(({ sandbox_id }) => sandbox_id).sort();
const all = Object.values(boxes).sort();

// ---------------------------------------------------------------- what it costs
async function print_costs() {
    const tools = { "list_sandbox_files": {}, "execute_terminal_command": { command: "true" } };
    for (const [tool, args] of Object.entries(tools)) {
        const call = (name) => () => at(name).call(tool, { ...args, sandbox_id: boxes.n1 });
        const [direct, other] = await by_turns(200, 20, [call("n1"), call("n2")]);
        console.log(`# ${tool}: ${direct.toFixed(2)} ms at its own server, ${other.toFixed(2)} ms through another: ${(other - direct).toFixed(2)} ms more, ratio ${(other / direct).toFixed(2)}`);
    }
}
await test("cluster costs: 200 calls of two tools each are answered by their own server and through another", print_costs);

// ---------------------------------------------------------------- HAProxy
async function works_through(url, name) {
    const ann = at(name).at(url);
    const session = await ann.session();
    for (const each of names) {
        const { result } = await reply(session.call("execute_terminal_command", { sandbox_id: boxes[each], command: "cat whose" }));
        assert((result.structuredContent?.stdout ?? result.content[0].text).includes(each), JSON.stringify(result));
        assert.equal(await ann.run(boxes[each], "cat whose"), `${each}\n`);
    }
    assert.equal(await session.end(), 204);
}

async function streams_through(url, file) {
    const call = at("n1").at(url).tool("execute_terminal_command", { sandbox_id: boxes.n2, command: `echo first; until [ -e ${file} ]; do sleep 0.05; done` });
    await until("the first line arrives", () => progress(call) === "first\n");
    await at("n2").run(boxes.n2, `touch ${file}`);
    assert("result" in await reply(call));
}

async function shell_through(url) {
    const shell = await open_shell(url, boxes.n3, at("n1").headers);
    shell.type("echo $((6 * 7))x; exit\r");
    await shell.until("42x");
    assert.equal((await shell.ended).exit_code, 0);
}

async function goes_straight(url) {
    const ann = at("n1").at(url);
    const served_by = async (exchange) => { await exchange.ended; return exchange.headers()["x-served-by"]; };
    for (const name of names) {
        assert.equal(await served_by(ann.tool("execute_terminal_command", { sandbox_id: boxes[name], command: "true" })), name);
        const session = await at(name).session();
        assert.equal(await served_by(open(`${url}/mcp`, { headers: session.headers, body: { jsonrpc: "2.0", id: 9, method: "ping" } })), name);
        assert.equal((await ann.get(`/sandbox/file?sandbox_id=${boxes[name]}&file_path=whose`)).headers.get("x-served-by"), name);
        const job = (await at(name).call("execute_terminal_command", { sandbox_id: boxes[name], command: "true", run_in_background: true })).job_id;
        assert.equal(await served_by(ann.modern("tasks/get", { taskId: job })), name);
    }
    const others = new Set();
    for (let i = 0; i < 6; ++i) others.add(await served_by(ann.tool("list_sandboxes", {})));
    assert.equal(others.size, names.length, "calls without a handle do not take turns");
    const served = await served_by(ann.tool("file_read", { sandbox_id: `sbx_n9_${"0".repeat(32)}`, path: "x" }));
    assert(names.includes(served), served);
}

let balancer;
if (fs.existsSync(haproxy) || is_debian) {
    await test("cluster: HAProxy starts with both configurations", async () => { balancer = await start_haproxy(cluster.nodes); });
} else {
    console.log("# cluster with HAProxy: not run, the package haproxy is not installed");
}
if (balancer) {
    for (const [way, url] of [["in turn", balancer.in_turn], ["by handle", balancer.by_handle]]) {
        await test(`cluster: behind HAProxy ${way} sessions and calls work`, async () => { for (const name of names) await works_through(url, name); });
        await test(`cluster: behind HAProxy ${way} output arrives while the run goes on`, () => streams_through(url, `go-${way[0]}`));
        await test(`cluster: behind HAProxy ${way} a shell's WebSocket works`, () => shell_through(url));
    }
    await test("cluster: HAProxy finds the server of a handle by header and query alone", () => goes_straight(balancer.by_handle));
}

// ---------------------------------------------------------------- administration
const listed = async (name, list) => (await at(name).get(`/admin/${list}`)).json();

async function ended(name, place) {
    const answer = await fetch(`${cluster.node(name).url}/admin/${place}`, { method: "DELETE", headers: at(name).headers });
    return { status: answer.status, value: await answer.json() };
}

await test("cluster administration: one server shows what runs at another, and ends it there", async () => {
    const run = at("n2").tool("execute_terminal_command", { sandbox_id: boxes.n2, command: "echo first; sleep 301", timeout: 250 });
    await until("the run is under way", () => progress(run) === "first\n");
    const { runs, unreachable_nodes } = await listed("n1", "runs?node=*");
    assert.deepEqual(unreachable_nodes, []);
    const row = runs.find(({ first_line }) => first_line.includes("sleep 301"));
    assert.deepEqual([row.node, row.sandbox_id], ["n2", boxes.n2]);
    assert.equal((await listed("n1", "runs")).runs.find(({ id }) => id === row.id), undefined, "a list without a name is of one server");
    assert.match(execFileSync(program, ["ps", "--all"], { env: { ...environment(cluster.node("n3").folder), COLUMNS: "250" }, encoding: "utf8" }), /^n2 .*sleep 301/m);
    assert.equal((await ended("n1", `runs/${row.id}?node=n3`)).status, 404);
    assert.equal((await ended("n1", `runs/${row.id}?node=n2`)).status, 200);
    assert.match(JSON.stringify(await reply(run)), /administrator ended/);
});
await test("cluster administration: lists are of all servers, in one order, and in parts that are whole together", async () => {
    for (const list of ["jobs", "sessions", "usage", "ends", "egress", "layers"]) {
        const { nodes } = await listed("n3", `${list}?node=*`);
        assert.deepEqual(nodes.map(({ node }) => node), ["n3", "n1", "n2"], list);
    }
    assert.deepEqual((await listed("n3", "usage?node=*")).principals.map(({ node, principal, sandboxes }) => [node, principal, sandboxes]).sort(), names.map((name) => [name, "ann", 1]));
    for (const sort of ["id", "used"]) {
        const rows = [];
        for (let after = ""; after !== null;) {
            const part = await listed("n1", `sandboxes?node=*&limit=1&sort=${sort}&after=${encodeURIComponent(after)}`);
            assert.equal(part.total, 3);
            assert(part.sandboxes.length <= 1 && rows.length <= 3, `${sort}: ${rows.length}`);
            rows.push(...part.sandboxes);
            after = part.next;
        }
        assert.deepEqual(rows.map(({ id }) => id).sort(), all, sort);
        assert(rows.every(({ id, node }) => node_of(id) === node), sort);
    }
});

let browser, page;
const tab_row = (text) => page.locator("tbody tr", { hasText: text });

async function page_of_all_servers() {
    const { barriers, live, open_page, overhang, picture, start_browser } = await import("../lib/browser.mjs");
    browser = await start_browser();
    page = await open_page(browser, `${cluster.node("n1").url}/ui#now`);
    await page.getByLabel("API key or token").fill(at("n1").token);
    await page.getByRole("button", { name: "Log in" }).click();
    await live(page);
    const jobs = await Promise.all(["n1", "n2"].map(async (name) => (await at(name).call("execute_terminal_command", { sandbox_id: boxes[name], command: `sleep 40${name[1]}`, run_in_background: true })).job_id));
    for (const name of ["n1", "n2"]) await tab_row(`sleep 40${name[1]}`).locator("td[data-name=Server]", { hasText: name }).waitFor();
    const choice = page.getByLabel("Servers that are shown");
    await choice.selectOption("n1");
    await tab_row("sleep 402").waitFor({ state: "hidden" });
    await choice.selectOption("n2");
    await tab_row("sleep 401").waitFor({ state: "hidden" });
    await tab_row("sleep 402").getByRole("button", { name: /^End/ }).click();
    await page.locator("dialog").getByRole("button", { name: "End it" }).click();
    await tab_row("sleep 402").waitFor({ state: "hidden" });
    assert.equal((await at("n2").call("job_poll", { job_id: jobs[1] })).state, "killed");
    await at("n1").call("job_kill", { job_id: jobs[0] });
    await choice.selectOption("");
    for (const pane of ["sandboxes", "jobs", "sessions", "principals", "audit", "health", "servers"]) {
        await page.goto(`${cluster.node("n1").url}/ui#${pane}`);
        await page.locator(`#panes a[aria-current=page][href="#${pane}"]`).waitFor();
        await page.locator("#main[aria-busy=false]").waitFor();
        for (const name of names) if (!["jobs", "sessions"].includes(pane)) await page.locator("tbody tr", { hasText: name }).first().waitFor();
        assert.deepEqual(await barriers(page), [], pane);
        await page.setViewportSize({ width: 360, height: 740 });
        assert.equal(await overhang(page), 0, `${pane} is too wide`);
        await picture(page, `cluster-${pane}-phone`);
        await page.setViewportSize({ width: 1300, height: 850 });
        assert.equal(await overhang(page), 0, `${pane} is too wide`);
        await picture(page, `cluster-${pane}`);
    }
    await page.locator("tbody tr", { hasText: "n2" }).getByText("up", { exact: true }).waitFor();
    await page.locator("tbody tr", { hasText: "n2" }).locator("td[data-name=Pressure]", { hasText: "%" }).waitFor();
}
if (fs.existsSync("/usr/bin/chromium"))
    await test("cluster administration: the page at one server shows all, by server, and ends what another one runs", page_of_all_servers);
else
    console.log("# the page of a cluster: not run, the package chromium is not installed");

// ---------------------------------------------------------------- a server is lost
const lost = cluster.node("n2");
const left = names.filter((name) => name !== lost.name);
const session_there = await at("n2").session();
const job = (await at("n2").call("execute_terminal_command", { sandbox_id: boxes.n2, command: "sleep 300", run_in_background: true })).job_id;
const streaming = at("n1").tool("execute_terminal_command", { sandbox_id: boxes.n2, command: "echo first; sleep 300", timeout: 250 });
await until("a call is under way there", () => progress(streaming) === "first\n");
await test("cluster administration: a server that is held up keeps nobody waiting for long", async () => {
    const begun = Date.now();
    const { runs, unreachable_nodes } = await lost.held_up(() => listed("n1", "runs?node=*"));
    assert.deepEqual(unreachable_nodes, ["n2"]);
    assert(runs.every(({ node }) => node !== "n2"));
    assert(Date.now() - begun < 4000, `${Date.now() - begun} ms`);
});
await lost.kill();

function is_unreachable(value) {
    assert.deepEqual([value.error_type, value.success ?? false], ["NodeUnreachable", false], JSON.stringify(value));
    assert.match(value.error, /\bn2\b/);
}

await test("cluster: a call that is under way at a lost server ends with an error that names it", async () => {
    const { result } = await reply(streaming);
    assert.equal(result.isError, true, JSON.stringify(result));
    is_unreachable(result.structuredContent ?? JSON.parse(result.content[0].text));
});
await test("cluster: without one server the others serve theirs", async () => {
    for (const asked_of of left) for (const name of left) assert.equal(await at(asked_of).run(boxes[name], "cat whose"), `${name}\n`);
    for (const name of left) await (await at(name).session()).end();
});
const COMMAND = { sandbox_id: boxes.n2, command: "true" };

await test("cluster: a lost server's handles say so by REST, with a status that means to try again", async () => {
    for (const name of left) {
        const { status, headers, value } = await at(name).rest("execute_terminal_command", COMMAND);
        is_unreachable(value);
        assert([502, 503].includes(status) && headers.has("retry-after"), `${status}, Retry-After ${headers.get("retry-after")}`);
    }
});
await test("cluster: a lost server's handles say so: stateless, in a session, as files, shells, tasks and sessions", async () => {
    for (const name of left) {
        for (const call of [at(name).tool("execute_terminal_command", COMMAND), (await at(name).session()).call("execute_terminal_command", COMMAND)]) {
            const { result } = await reply(call);
            assert.equal(result.isError, true);
            is_unreachable(result.structuredContent ?? JSON.parse(result.content[0].text));
        }
        const answer = await at(name).get(`/sandbox/file?sandbox_id=${boxes.n2}&file_path=whose`);
        assert([502, 503].includes(answer.status) && answer.headers.has("retry-after"), `a file: ${answer.status}`);
        is_unreachable(await answer.json());
        await assert.rejects(open_shell(cluster.node(name).url, boxes.n2, at(name).headers));
        assert.match((await reply(at(name).modern("tasks/get", { taskId: job }))).error.message, /\bn2\b/);
        assert.match((await reply(at(name).modern("resources/read", { uri: `sandbox://${boxes.n2}/whose` }))).error.message, /\bn2\b/);
        const to_session = open(`${cluster.node(name).url}/mcp`, { headers: session_there.headers, body: { jsonrpc: "2.0", id: 1, method: "ping" } });
        await to_session.ended;
        assert([502, 503].includes(to_session.status()), `${to_session.status()}`);
    }
});
await test("cluster: lists name the server that does not answer", async () => {
    for (const name of left) {
        const list = await at(name).call("list_sandboxes");
        assert.deepEqual(ids(list), all.filter((id) => node_of(id) !== "n2"));
        assert.deepEqual(list.unreachable_nodes, ["n2"]);
        assert.deepEqual((await at(name).call("job_list")).unreachable_nodes, ["n2"]);
    }
});
await test("cluster administration: a lost server is named, and what is asked of it alone is refused", async () => {
    const { sandboxes, unreachable_nodes } = await listed("n1", "sandboxes?node=*");
    assert.deepEqual([sandboxes.map(({ node }) => node).sort(), unreachable_nodes], [left, ["n2"]]);
    const { status, value } = await ended("n1", `sandboxes/${boxes.n2}?node=n2`);
    assert.equal(status, 502);
    is_unreachable(value);
});
if (page) {
    await test("cluster administration: the page names the lost server", async () => {
        await page.getByText("n2 does not answer").waitFor();
        await page.locator("tbody tr", { hasText: "n2" }).getByText("unreachable").waitFor();
        assert.deepEqual(page.faults, []);
        await browser.close();
    });
}
if (balancer) {
    await test("cluster: HAProxy gives calls without a handle to the servers that are left", async () => {
        await until("six in turn work", async () => {
            for (let i = 0; i < 6; ++i) if ((await at("n1").at(balancer.in_turn).rest("list_sandboxes")).status !== 200) return false;
            return true;
        });
    });
    await test("cluster: HAProxy gives calls with a handle of the lost server to another one, which says so", async () => {
        const { result } = await reply(at("n1").at(balancer.by_handle).tool("execute_terminal_command", COMMAND));
        is_unreachable(result.structuredContent ?? JSON.parse(result.content[0].text));
    });
}
await test("cluster: a server that comes back has its sandboxes with their files, and is in the lists", async () => {
    await lost.start();
    for (const name of names) {
        assert.equal(await at(name).run(boxes.n2, "cat whose"), "n2\n");
        const list = await at(name).call("list_sandboxes");
        assert.deepEqual([ids(list), list.unreachable_nodes ?? []], [all, []]);
        assert.equal((await at(name).call("job_poll", { job_id: job })).state, "lost");
    }
    const there = open(`${cluster.node("n1").url}/mcp`, { headers: session_there.headers, body: { jsonrpc: "2.0", id: 1, method: "ping" } });
    await there.ended;
    assert.equal(there.status(), 200, "the session did not outlive its server's process");
});

if (balancer) await balancer.stop();
await test("cluster: the servers stop and leave nothing after a loss", stop);
process.exit();
