// What etcd decides between the servers of a cluster: who is there, who has what, and who stands still while it is away. Servers are
// killed, frozen, added and removed; etcd loses members, stands still, and is away altogether.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { caller } from "../lib/caller.mjs";
import { node_of, start_cluster } from "../lib/cluster.mjs";
import { start_rig } from "../lib/cluster_rig.mjs";
import { start_etcd } from "../lib/etcd.mjs";
import { start_object_storage } from "../lib/object_storage.mjs";
import { with_marker } from "../lib/processes.mjs";
import { pause, test, until } from "../lib/report.mjs";

const storage = await start_object_storage();
const kept_in = (prefix) => ({ ...storage.settings(prefix), SNAPSHOT_KEY: randomBytes(32).toString("hex"), SANDBOX_SNAPSHOT_EVERY: "1", MCP_DRAIN_NOTICE: "1" });
const etcd = await start_etcd({ members: 3 });
const { cluster, names, at, another, boxes, stop } = await start_rig({ ...kept_in("etcd"), SANDBOX_MAX_RUNS: "16" }, { etcd });

const PREFIX = "/cmcp/default/";
const members = async () => Object.keys(await etcd.get(`${PREFIX}member/`)).map((key) => key.split("/").at(-1));
const owner_of = async (handle) => (await etcd.get(`${PREFIX}own/${handle}`))[`${PREFIX}own/${handle}`]?.node;
const serves = async ({ url }) => (await fetch(`${url}/healthz`).catch(() => ({ ok: false }))).ok;
const all_serve = () => Promise.all(cluster.nodes.map((node) => until(`${node.name} serves`, () => serves(node))));
const kept = (by, sandbox_id) => until("the sandbox is kept", async () => (await by.call("pause_sandbox", { sandbox_id })).kept_elsewhere);
const seconds_since = (begun) => (performance.now() - begun) / 1000;

async function works_everywhere() {
    for (const asked of names) for (const name of names) assert.equal(await at(asked).run(boxes[name], "cat whose"), `${name}\n`);
}

/// Calls at each server, until `stop()`, which gives those that failed and how many there were.
function start_calls() {
    let goes_on = true, calls = 0;
    const failures = [];
    async function call_on(name) {
        for (; goes_on; ++calls) {
            const problem = await at(name).rest("execute_terminal_command", { sandbox_id: boxes[another(name)], command: "cat whose" }).then(
                ({ status, value }) => (status === 200 && value.stdout === `${another(name)}\n` ? undefined : `${name}: ${status} ${JSON.stringify(value).slice(0, 200)}`),
                (error) => `${name}: ${error.cause ?? error}`);
            if (problem) failures.push(problem);
        }
    }
    const callers = names.map(call_on);
    return { stop: async () => { goes_on = false; await Promise.all(callers); return { calls, failures }; } };
}

// ---------------------------------------------------------------- who is there
await test("etcd: a second process of one name is refused, and the first one goes on", async () => {
    const second = await cluster.twin("n1");
    await assert.rejects(second.start(), /the server ended \([1-9]\d*\).*SANDBOX_NODE/s);
    assert.match(fs.readFileSync(path.join(second.folder, "server.log"), "utf8"), /name_in_use/);
    assert.deepEqual(await members(), names);
    await works_everywhere();
});

await test("etcd: a server is added by starting it and removed by stopping it, and its sandboxes stay", async () => {
    const fourth = await cluster.add("n4");
    assert.deepEqual(await members(), [...names, "n4"]);
    const there = at("n1").at(fourth.url);
    const { sandbox_id } = await there.call("create_sandbox");
    await there.run(sandbox_id, "echo of the fourth > whose");
    for (const name of names) assert.equal(await at(name).run(sandbox_id, "cat whose"), "of the fourth\n");
    assert.equal(await there.run(boxes.n2, "cat whose"), "n2\n");
    await fourth.stop();
    assert.deepEqual(await members(), names);
    for (const name of names) {
        assert.equal(await at(name).run(sandbox_id, "cat whose"), "of the fourth\n");
        assert.deepEqual((await at(name).call("list_sandboxes")).unreachable_nodes ?? [], []);
    }
    cluster.nodes.pop();
    await at("n1").call("delete_sandbox", { sandbox_id });
    await until("nobody owns what is deleted", async () => await owner_of(sandbox_id) === undefined);
});

// ---------------------------------------------------------------- etcd is not whole, or not there
await test("etcd: without its leader no call fails", async () => {
    const leader = await etcd.leader();
    const calls = start_calls();
    await etcd.kill([leader]);
    await etcd.start([leader]);
    const { failures } = await calls.stop();
    assert.deepEqual(failures, []);
});

await test("etcd: its members restart one after the other, as for an upgrade, and no call fails", async () => {
    const calls = start_calls();
    for (const { name } of etcd.members) {
        await etcd.kill([name]);
        await etcd.start([name]);
        await pause(3000);      // as an engine waits before it goes on
    }
    const { calls: count, failures } = await calls.stop();
    console.log(`# ${count} calls while the members of etcd restarted, ${failures.length} failed`);
    assert.deepEqual(failures, []);
});

await test("etcd: held up for a second, no call fails", async () => {
    const calls = start_calls();
    etcd.hold_up();
    await pause(1000);
    etcd.go_on();
    const { failures } = await calls.stop();
    assert.deepEqual(failures, []);
});

/// A program that counts in its memory, four times a second.
const COUNT = "i=0; while :; do i=$((i + 1)); echo $i $(date +%s%3N) >> counted; sleep 0.25; done";

async function counted(handle) {
    const lines = (await at("n1").run(handle, "cat counted")).trim().split("\n").map((line) => line.split(" ").map(Number));
    assert.deepEqual(lines.map(([number]) => number), lines.map((_, i) => i + 1), "the program began again");
    return lines;
}

const ways_to_be_away = {
    "killed": [() => etcd.kill(), () => etcd.start()],
    "held up": [() => etcd.hold_up(), () => etcd.go_on()],
};
for (const [how, [go, come]] of Object.entries(ways_to_be_away)) {
    await test(`etcd: ${how} for ten seconds, programs stand still and go on, and none ends`, async () => {
        const jobs = {};
        for (const name of names) {
            await at(name).run(boxes[name], "rm -f counted");
            jobs[name] = (await at(name).call("execute_terminal_command", { sandbox_id: boxes[name], command: COUNT, run_in_background: true })).job_id;
            await until("it counts", async () => (await at(name).run(boxes[name], "cat counted 2> /dev/null | wc -l")) > 2);
        }
        await go();
        await pause(10_000);
        await come();
        await all_serve();
        for (const name of names) {
            const before = (await counted(boxes[name])).length;
            await until("it goes on", async () => (await counted(boxes[name])).length > before + 2);
            assert.equal((await at(another(name)).call("job_poll", { job_id: jobs[name] })).state, "running");
            const times = (await counted(boxes[name])).map(([, when]) => when);
            const longest = Math.max(...times.slice(1).map((when, i) => when - times[i]));
            assert(longest > 3000, `${name}: its longest pause was of ${longest} ms, so nothing held it`);
            assert.equal(await owner_of(boxes[name]) ?? node_of(boxes[name]), name, "somebody took over what was only held");
            await at("n1").call("job_kill", { job_id: jobs[name] });
        }
    }, 120_000);
}

await test("etcd: while it is away, calls are refused within five seconds, with what to do", async () => {
    await etcd.kill();
    try {
        await Promise.all(cluster.nodes.map((node) => until(`${node.name} is cut off`, async () => !(await serves(node)))));
        const attempts = Object.fromEntries(names.flatMap((name) => [
            [`${name}, its own sandbox`, () => at(name).rest("execute_terminal_command", { sandbox_id: boxes[name], command: "true" })],
            [`${name}, another one's sandbox`, () => at(name).rest("execute_terminal_command", { sandbox_id: boxes[another(name)], command: "true" })],
            [`${name}, a new sandbox`, () => at(name).rest("create_sandbox")],
            [`${name}, the default sandbox`, () => at(name).rest("system_run_command", { command: "true" })],
            [`${name}, a file`, async () => {
                const answer = await at(name).get(`/sandbox/file?sandbox_id=${boxes[name]}&file_path=whose`);
                return { status: answer.status, headers: answer.headers, value: await answer.json() };
            }],
        ]));
        for (const [what, attempt] of Object.entries(attempts)) {
            const begun = performance.now();
            const { status, headers, value } = await attempt();
            assert.deepEqual([status, value.error_type], [503, "NodeCutOff"], `${what}: ${JSON.stringify(value)}`);
            assert(Number(headers.get("retry-after")) > 0, `${what}: Retry-After ${headers.get("retry-after")}`);
            assert(seconds_since(begun) <= 5, `${what}: ${seconds_since(begun)} s`);
        }
    } finally {
        await etcd.start();
    }
    await all_serve();
    await works_everywhere();
}, 180_000);

// ---------------------------------------------------------------- who has what
await test("etcd: a killed server's sandbox is taken over within eight seconds, and given up by that server when it is back", async () => {
    await kept(at("n2"), boxes.n1);
    const begun = performance.now();
    const gone = cluster.node("n1").kill();
    await until("another one has it", async () => (await at("n2").rest("execute_terminal_command", { sandbox_id: boxes.n1, command: "cat whose" })).value.stdout === "n1\n");
    const seconds = seconds_since(begun);
    console.log(`# a killed server's sandbox answered elsewhere after ${seconds.toFixed(1)} s`);
    assert(seconds < 8, `${seconds} s`);
    await gone;
    assert.notEqual(await owner_of(boxes.n1), "n1");
    await at("n3").run(boxes.n1, "echo newer > whose");
    await cluster.node("n1").start();
    await all_serve();
    for (const name of names) assert.equal(await at(name).run(boxes.n1, "cat whose"), "newer\n");
    const aside = fs.readdirSync(path.join(cluster.node("n1").folder, "data", "sandboxes", ".superseded"));
    assert(aside.some((name) => name.startsWith(boxes.n1)), aside.join());
    await at("n1").run(boxes.n1, "echo n1 > whose");
});

await test("etcd: a frozen server's sandbox is taken over, and that server serves it no more when it goes on", async () => {
    const marker = `cmcp-frozen-${process.pid}`;
    await kept(at("n1"), boxes.n3);
    await at("n3").call("execute_terminal_command", { sandbox_id: boxes.n3, command: `exec -a ${marker} sleep 300`, run_in_background: true });
    await until("a program runs there", () => with_marker(marker).length > 0);
    const asked = (command) => ({ sandbox_id: boxes.n3, command });
    const under_way = at("n1").rest("execute_terminal_command", asked(`exec -a ${marker} sleep 200`));
    await until("a call is under way there", () => with_marker(marker).length > 1);
    let first;
    await cluster.node("n3").held_up(async () => {
        const frozen = pause(10_000);
        const begun = performance.now();
        const { status, value } = await under_way;
        const seconds = (performance.now() - begun) / 1000;
        assert.deepEqual([status, value.error_type, value.may_have_run], [502, "NodeUnreachable", true], JSON.stringify(value));
        assert(seconds < 20, `the call under way ended after ${seconds.toFixed(1)} s`);
        await until("another one has it", async () => (await at("n2").rest("execute_terminal_command", asked("echo by another > whose; cat whose"))).value.stdout === "by another\n");
        await frozen;
        // What it hears first is a call for it, before it has heard of anything else.
        first = at("n3").rest("execute_terminal_command", asked("cat whose"));
    });
    const { value } = await first;
    assert(value.error_type === "NodeCutOff" || value.stdout === "by another\n", JSON.stringify(value));
    await until("it passes calls on", async () => (await at("n3").rest("execute_terminal_command", asked("cat whose"))).value.stdout === "by another\n");
    await until("what ran there has ended", () => with_marker(marker).length === 0);
    await all_serve();
    assert.equal((await at("n3").call("list_sandboxes")).sandboxes.filter(({ sandbox_id }) => sandbox_id === boxes.n3).length, 1);
}, 120_000);

await test("etcd: what a frozen server tells as done when it goes on, the server that took over has", async () => {
    await kept(at("n1"), boxes.n2);
    const answered = [];
    let goes_on = true, number = 0;
    async function call_on() {
        while (goes_on) {
            const mine = ++number;
            const done = await at("n2").rest("execute_terminal_command", { sandbox_id: boxes.n2, command: `echo ${mine} >> told` }).catch(() => ({}));
            if (done.status === 200 && done.value.exit_code === 0) answered.push({ mine, when: performance.now() });
        }
    }
    const callers = [1, 2, 3, 4].map(call_on);
    await until("they are answered", () => answered.length > 20);
    await cluster.node("n2").held_up(() =>
        until("another one has it", async () => (await at("n3").rest("execute_terminal_command", { sandbox_id: boxes.n2, command: "cat whose" })).value.stdout === "n2\n"));
    const went_on = performance.now();
    await until("calls are answered again", () => answered.filter(({ when }) => when > went_on).length > 20);
    goes_on = false;
    await Promise.all(callers);
    const there = new Set((await at("n1").run(boxes.n2, "cat told")).trim().split("\n"));
    const lost = answered.filter(({ mine, when }) => when > went_on && !there.has(String(mine)));
    // The machine may stop between a call's look at etcd and the sending of its answer, which nobody can tell then.
    assert(lost.length <= 1, `told as done after another server had it: ${JSON.stringify(lost)}`);
}, 120_000);

// ---------------------------------------------------------------- calls with a key
const stamp = (handle) => [...storage.objects].filter(([key]) => key.includes(`/manifests/${handle}/`)).map(([, { etag }]) => etag).join();

/// The answer of a server that knows where the sandbox is. A connection that this client has kept may be one of a server that has ended.
async function when_found(what, ask) {
    let answer;
    await until(what, async () => {
        answer = await ask().catch(() => undefined);
        return answer && !answer.value.error_type?.startsWith("Node");
    });
    return answer;
}

await test("etcd: a call with a key runs once, over a restart, a move and a takeover", async () => {
    const { sandbox_id } = await at("n1").call("create_sandbox");
    const call = (name, key, command = "echo line >> log; date +%s%N") => at(name).rest("execute_terminal_command", { sandbox_id, command }, { "Idempotency-Key": key });
    const first = await call("n1", "first");
    assert.equal(first.status, 200, JSON.stringify(first.value));
    const answers_same = async (name, key, before) => {
        const { status, value } = await when_found(`${name} answers`, () => call(name, key));
        assert.deepEqual([status, value.stdout], [200, before.value.stdout], JSON.stringify(value));
    };
    await cluster.node("n1").stop({ keep: true });
    await cluster.node("n1").start();
    await answers_same("n1", "first", first);
    const other = await when_found("n1 refuses", () => call("n1", "first", "echo other >> log"));
    assert.equal(other.status, 400, JSON.stringify(other.value));

    await cluster.node("n1").stop({ keep: true });
    await answers_same("n2", "first", first);
    assert.equal(await owner_of(sandbox_id), "n2");
    await cluster.node("n1").start();
    await answers_same("n1", "first", first);
    const second = await when_found("a second call runs", () => call("n3", "second"));
    await kept(at("n3"), sandbox_id);
    await cluster.node("n2").kill();
    await answers_same("n3", "second", second);
    await answers_same("n1", "first", first);
    assert.notEqual(await owner_of(sandbox_id), "n2");
    await cluster.node("n2").start();
    await all_serve();
    assert.equal(await at("n2").run(sandbox_id, "wc -l < log"), "2\n");
    assert.equal(await at("n2").run(sandbox_id, "find / -xdev -name '*.ended' 2> /dev/null | head -1"), "", "programs see the calls");
    await at("n1").call("delete_sandbox", { sandbox_id });
}, 180_000);

await test("etcd: a call with a key whose server is killed meanwhile is not made again", async () => {
    const { sandbox_id } = await at("n1").call("create_sandbox");
    const call = (name) => at(name).rest("execute_terminal_command", { sandbox_id, command: "echo begun >> begun; sleep 60" }, { "Idempotency-Key": "under-way" });
    const under_way = call("n3").catch((error) => error);
    await until("it has begun", async () => (await at("n2").rest("execute_terminal_command", { sandbox_id, command: "cat begun" })).value.stdout === "begun\n");
    for (let i = 0; i < 2; ++i) {       // the first snapshot that is ready may have begun before it
        const before = stamp(sandbox_id);
        await at("n2").run(sandbox_id, "date +%N > .touched");
        await until("it is kept", () => stamp(sandbox_id) !== before);
    }
    await cluster.node("n1").kill();
    const ended = await under_way;
    assert.equal(ended.value?.may_have_run, true, JSON.stringify(ended.value));
    const again = await when_found("another one answers", () => call("n2"));
    assert.deepEqual([again.status, again.value.may_have_run], [500, true], JSON.stringify(again.value));
    assert.match(again.value.error, /Idempotency-Key/);
    assert.equal(await at("n3").run(sandbox_id, "cat begun"), "begun\n");
    await cluster.node("n1").start();
    await all_serve();
}, 120_000);

await test("etcd: the servers stop and leave nothing", async () => {
    await stop();
    assert.deepEqual(await members(), []);
    await etcd.stop();
});

// ---------------------------------------------------------------- two servers
const of_nobody = (node) => new caller(node.url);

await test("etcd: two servers with one etcd that speaks plain HTTP: one takes over what the other had", async () => {
    const plain = await start_etcd({ plain: true });
    const two = await start_cluster({ names: ["m1", "m2"], etcd: plain, settings: { ...kept_in("two"), BASH_ALLOWED_COMMANDS: "*" } });
    const [first, second] = two.nodes;
    const { sandbox_id } = await of_nobody(first).call("create_sandbox");
    await of_nobody(first).run(sandbox_id, "echo here > file");
    await kept(of_nobody(first), sandbox_id);
    await first.kill();
    await until("the other one has it", async () => (await of_nobody(second).rest("execute_terminal_command", { sandbox_id, command: "cat file" })).value.stdout === "here\n");
    await first.start();
    assert.equal(await of_nobody(first).run(sandbox_id, "cat file"), "here\n");
    await two.stop();
    await plain.stop();
}, 120_000);

/// Two servers that have stopped, with a sandbox of the first that the second has taken over, and an etcd that knows nothing of it.
async function two_that_stopped(prefix) {
    const before = await start_etcd();
    const two = await start_cluster({ names: ["m1", "m2"], etcd: before, settings: { ...kept_in(prefix), BASH_ALLOWED_COMMANDS: "*" } });
    const [first, second] = two.nodes;
    const { sandbox_id } = await of_nobody(first).call("create_sandbox");
    await of_nobody(first).run(sandbox_id, "echo older > file");
    await kept(of_nobody(first), sandbox_id);
    await first.stop({ keep: true });
    await until("the second one has it", async () => (await of_nobody(second).rest("execute_terminal_command", { sandbox_id, command: "echo newer > file; cat file" })).value.stdout === "newer\n");
    await first.start();
    assert.equal(await of_nobody(first).run(sandbox_id, "cat file"), "newer\n");
    for (const node of two.nodes) await node.stop({ keep: true });
    await before.stop();
    const empty = await start_etcd({ authority: before.authority });
    for (const node of two.nodes) Object.assign(node.settings, empty.settings);
    const reads = (node) => of_nobody(node).rest("execute_terminal_command", { sandbox_id, command: "cat file" });
    const owner = async () => (await empty.get(`${PREFIX}own/${sandbox_id}`))[`${PREFIX}own/${sandbox_id}`]?.node;
    const start = () => Promise.all(two.nodes.map((node) => node.start()));
    const stop_all = async () => { await two.stop(); await empty.stop(); };
    return { nodes: two.nodes, sandbox_id, reads, owner, start, stop: stop_all };
}

await test("etcd: owners that servers without etcd had in the storage are taken into it", async () => {
    const { nodes, sandbox_id, reads, owner, start, stop } = await two_that_stopped("claimed");
    const claim = `claimed/claims/${sandbox_id}/0000000001`;
    storage.objects.set(claim, { bytes: Buffer.from(JSON.stringify({ node: "m2", claim: "1" })), etag: '"1"', modified: new Date() });
    await start();
    for (const node of nodes) await until(`${node.name} finds it`, async () => (await reads(node)).value.stdout === "newer\n");
    assert.equal(await owner(), "m2");
    assert(!storage.objects.has(claim), "the claim is still there");
    await stop();
}, 120_000);

await test("etcd: without what it had, servers have each sandbox once, as it was kept last", async () => {
    const { nodes, reads, start, stop } = await two_that_stopped("forgotten");
    await start();
    for (const node of nodes) await until(`${node.name} finds it`, async () => (await reads(node)).value.stdout === "newer\n");
    await stop();
}, 120_000);

await test("etcd: servers that come before etcd wait for it, and log in with a password", async () => {
    const later = await start_etcd();
    await later.require_password(randomBytes(16).toString("hex"));
    await later.kill();
    const [two] = await Promise.all([start_cluster({ names: ["m1", "m2"], etcd: later, settings: { BASH_ALLOWED_COMMANDS: "*" } }), pause(2000).then(() => later.start())]);
    const [first, second] = two.nodes;
    const { sandbox_id } = await of_nobody(first).call("create_sandbox");
    const works = async () => (await of_nobody(second).rest("execute_terminal_command", { sandbox_id, command: "echo works" })).value.stdout === "works\n";
    await until("each knows the other", works);
    await later.kill();
    await later.start();        // it asks for the password again
    await second.stop({ keep: true });
    await second.start();
    await until("each knows the other again", works);
    await two.stop();
    await later.stop();
}, 120_000);

await test("etcd: two clusters with a prefix each share one etcd, and know nothing of each other", async () => {
    const shared = await start_etcd();
    const clusters = await Promise.all(["/one/", "/two/"].map((CLUSTER_PREFIX) => start_cluster({ names: ["m1"], etcd: shared, settings: { CLUSTER_PREFIX } })));
    for (const prefix of ["/one/", "/two/"]) assert.deepEqual(Object.keys(await shared.get(`${prefix}member/`)), [`${prefix}member/m1`]);
    const [of_one, of_two] = clusters.map(({ nodes: [node] }) => of_nobody(node));
    const { sandbox_id } = await of_one.call("create_sandbox");
    assert.equal((await of_two.rest("list_sandbox_files", { sandbox_id })).status, 404);
    assert.deepEqual((await of_two.call("list_sandboxes")).sandboxes, []);
    for (const each of clusters) await each.stop();
    await shared.stop();
});

await test("etcd: the storage stops", () => storage.stop());
process.exit();
