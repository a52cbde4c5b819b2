// What the servers of a cluster share by etcd: loads, quotas, names, default sandboxes, keys and limits, and what is left of it when etcd
// or a server was away.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { machine_token, start_authorization_server } from "../lib/authorization_server.mjs";
import { by_turns } from "../lib/by_turns.mjs";
import { caller } from "../lib/caller.mjs";
import { node_of } from "../lib/cluster.mjs";
import { start_rig } from "../lib/cluster_rig.mjs";
import { test, until } from "../lib/report.mjs";
import { environment, program, start_server } from "../lib/server.mjs";

const RUNS = 4;
const TOKENS = `ann=${"a".repeat(32)},bob=${"b".repeat(32)}`;
const as = await start_authorization_server();
const { cluster, etcd, names, at, another, third, boxes, stop } = await start_rig({
    AUTH_ISSUERS: as.issuer, AUTH_QUOTAS: "ann:sandboxes=6,ann:jobs=2,bob:calls=6,robin:sandboxes=6", SANDBOX_MAX_RUNS: String(RUNS), MCP_AUTH_TOKENS: TOKENS,
});

/// What etcd has below the prefix of the cluster's keys; undefined: nothing.
const PREFIX = "/cmcp/default/";
const keys_of = async (kind) => Object.keys(await etcd.get(`${PREFIX}${kind}/`)).map((key) => key.slice(PREFIX.length + kind.length + 1));
const value_of = async (key) => (await etcd.get(PREFIX + key))[PREFIX + key];
const load_of = (name) => value_of(`member/${name}`);
const told = async (name = "n1") => await value_of(`use/ann/${name}`) ?? {};
const refusal = async (name, tool, args = {}) => (await at(name).rest(tool, args)).value;

function command(name, ...words) {
    return execFileSync(program, words, { encoding: "utf8", env: environment(cluster.node(name).folder, { SANDBOX_NODE: name }), stdio: ["ignore", "pipe", "pipe"] });
}
const status_at = async (name, key) => (await new caller(cluster.node(name).url, key).rest("list_sandboxes")).status;

await test("shared: each server tells of itself and of what it keeps", async () => {
    assert.deepEqual(await keys_of("member"), names);
    let load = {};
    await until("n1 has told of its sandbox", async () => (load = await load_of("n1")).sandboxes === 1);
    for (const figure of ["max_runs", "memory_available", "disk_available", "sandboxes"]) assert(load[figure] > 0, `${figure}: ${JSON.stringify(load)}`);
    assert.equal(load.runs_waiting, 0);
    const { sandboxes, names: of_sandboxes } = await told();
    assert.equal(sandboxes, 1);
    assert.equal(of_sandboxes.length, 1);
    // From here on each server knows that the others are there.
    await Promise.all(names.map((name) => until(`${name} knows the others`, async () => await alive(name) === "2")));
});

async function alive(name) {
    const text = await (await at(name).get("/metrics")).text();
    return /^cmcp_members_alive (\d+)$/m.exec(text)?.[1] ?? "0";
}

await test("shared: the quota of sandboxes is of all servers together, whoever is asked in turn", async () => {
    const fresh = [];
    for (let i = 0; i < 3; ++i) fresh.push((await at(names[i]).call("create_sandbox", { name: `of-${names[i]}` })).sandbox_id);
    for (const name of names) {
        const { error_type, error } = await refusal(name, "create_sandbox");
        assert.equal(error_type, "QuotaExceeded");
        assert.match(error, /your quota of sandboxes allows \(6, of which 4 at other servers\)/);
    }
    await at("n2").call("delete_sandbox", { sandbox_id: fresh[2] });
    const again = (await at("n1").call("create_sandbox", { name: "again" })).sandbox_id;
    assert.equal((await refusal("n2", "create_sandbox")).error_type, "QuotaExceeded");
    await at("n3").call("delete_sandbox", { sandbox_id: again });
});

await test("shared: the quota of jobs counts those of other servers", async () => {
    const begin = (name) => at(name).rest("execute_terminal_command", { sandbox_id: boxes[name], command: "sleep 1000", run_in_background: true });
    const jobs = [(await begin("n1")).value.job_id, (await begin("n2")).value.job_id];
    const { error } = (await begin("n3")).value;
    assert.match(error, /quota of jobs allows \(2, of which 2 at other servers\)/);
    for (const job_id of jobs) await at("n3").call("job_kill", { job_id });
});

await test("shared: a minute's calls are of all servers together", async () => {
    const bob = new caller("", "b".repeat(32));
    const statuses = [];
    for (let i = 0; i < 8; ++i) statuses.push((await bob.at(cluster.node(names[i % 3]).url).rest("list_sandboxes")).value.error_type ?? "fine");
    assert.deepEqual(statuses, [...Array(6).fill("fine"), "RateLimited", "RateLimited"]);
});

await test("shared: a name that a sandbox has at one server is refused at all", async () => {
    await at("n2").call("delete_sandbox", { sandbox_id: "of-n1" });      // so that the quota refuses nothing
    const { sandbox_id } = await at("n1").call("create_sandbox", { name: "only-one" });
    for (const name of names) {
        const { status, value } = await at(name).rest("create_sandbox", { name: "only-one" });
        assert.deepEqual([status, value.error_type], [409, "NameTaken"], JSON.stringify(value));
    }
    await at("n2").call("delete_sandbox", { sandbox_id });
    const { sandbox_id: again } = await at("n3").call("create_sandbox", { name: "only-one" });
    await at("n1").call("delete_sandbox", { sandbox_id: again });
    await at("n1").call("create_sandbox", { name: "of-n1" });
});

await test("shared: of 36 sandboxes that are made at once at three servers the quota lets six be, and of 12 with one name one", async () => {
    const robin = JSON.parse(command("n1", "key", "create", "robin", "--json")).key;
    const at_each = names.map((name) => new caller(cluster.node(name).url, robin));
    for (const name of names) await until(`${name} knows the key`, async () => await status_at(name, robin) === 200);
    const made_at_once = (count, args) => Promise.all(Array.from({ length: count }, (_, i) => at_each[i % 3].rest("create_sandbox", args)));
    const outcomes = (answers) => answers.map(({ value }) => value.error_type ?? "made").sort();
    const named = await made_at_once(12, { name: "the-one" });
    assert.deepEqual(outcomes(named), [...Array(11).fill("NameTaken"), "made"]);
    await at_each[1].call("delete_sandbox", { sandbox_id: "the-one" });
    const all = await made_at_once(36, {});
    assert.deepEqual(outcomes(all), [...Array(30).fill("QuotaExceeded"), ...Array(6).fill("made")]);
    for (const name of [0, 1, 2]) assert.equal((await at_each[name].call("list_sandboxes")).sandboxes.length, 6);
    for (const { value } of all.filter(({ value }) => value.sandbox_id)) await at_each[2].call("delete_sandbox", { sandbox_id: value.sandbox_id });
}, 120_000);

await test("shared: the name of a sandbox leads to its server, and the latest sandbox is that of all servers", async () => {
    await at("n1").run("of-n2", "echo by n1 > of-whom");
    await at("n3").run("of-n2", "echo by n3 >> of-whom");
    assert.equal(await at("n2").run("of-n2", "cat of-whom"), "by n1\nby n3\n");
    const { sandbox_id } = await at("n2").call("create_sandbox", { name: "the-latest" });
    await at("n2").run(sandbox_id, "echo here > mark");
    for (const name of names) {
        assert.equal((await at(name).call("execute_code", { code: "print(open('mark').read())" })).output, "here\n\n");
        assert.equal((await at(name).call("initialize_sandbox")).container_id, sandbox_id);
    }
    const absent = await refusal("n3", "execute_terminal_command", { sandbox_id: "no-such-name", command: "true" });
    assert.equal(absent.error_type, "NotFound");
    await at("n1").call("delete_sandbox", { sandbox_id: "the-latest" });
});

// ---------------------------------------------------------------- places
await test("shared: a new sandbox goes to a server that is less busy than the one that is asked", async () => {
    const busy = Array.from({ length: 2 * RUNS }, () => at("n1").rest("execute_terminal_command", { sandbox_id: boxes.n1, command: "sleep 1000", timeout: 1000 }));
    await until("the others know that runs wait at n1", async () => (await load_of("n1")).runs_waiting >= RUNS);
    let fresh = "";
    await until("n1 gives a new sandbox to another server", async () => {
        fresh = (await at("n1").call("create_sandbox")).sandbox_id;
        if (node_of(fresh) !== "n1") return true;
        await at("n2").call("delete_sandbox", { sandbox_id: fresh });
        return false;
    });
    assert.equal(await at("n1").run(fresh, "echo used"), "used\n");
    await at("n1").call("delete_sandbox", { sandbox_id: fresh });
    await at("n2").call("stop_sandbox", { sandbox_id: boxes.n1, keep_files: true });
    await Promise.all(busy);
    await until("n1 is idle", async () => (await load_of("n1")).runs_waiting === 0);
});

const home = () => value_of("home/ann");

await test("shared: the default sandbox is the same from each server, with runs, and so is what results had no room for", async () => {
    const latest = (await at("n1").call("initialize_sandbox")).container_id;
    await at("n1").call("file_write", { path: "notes/a.txt", content: "of ann\n" });
    for (const name of names) {
        assert.equal((await at(name).call("file_read", { path: "notes/a.txt" })).content, "of ann\n");
        assert.equal((await at(name).call("system_run_command", { command: "cat notes/a.txt" })).stdout, "of ann\n");
    }
    assert(names.includes(await home()));
    // It was made last, but is neither counted nor meant by who means the latest sandbox.
    const at_home = async () => await told(await home());
    await until("its home has told of it", async () => (await at_home()).names?.includes("default"));
    const { sandboxes, names: kept } = await at_home();
    assert.equal(sandboxes, kept.length - 1);
    for (const name of names) assert.equal((await at(name).call("initialize_sandbox")).container_id, latest);
    for (const name of names) {
        const { output_path } = await at(name).call("system_info", { max_output: 100 });
        assert.equal(node_of(output_path.split("/").at(-1)), name);
        for (const each of names) assert.match((await at(each).call("file_read", { path: output_path })).content, /^\[limits\]/);
    }
});

// ---------------------------------------------------------------- keys
const robot = { key: "", id: "" };

await test("shared: a key of one server is good at all, and ends at all when it is revoked", async () => {
    Object.assign(robot, JSON.parse(command("n1", "key", "create", "robot", "--scopes", "mcp:read", "--json")));
    await until("n2 knows the key of n1", async () => await status_at("n2", robot.key) === 200);
    assert.equal(await status_at("n3", robot.key), 200);
    assert.equal((await new caller(cluster.node("n3").url, robot.key).rest("create_sandbox")).status, 403, "it has more scopes than it was given");
    const other = JSON.parse(command("n1", "key", "create", "robot", "--json"));
    await until("n2 knows the other key", async () => await status_at("n2", other.key) === 200);
    command("n1", "key", "revoke", other.id);
    await until("n2 knows that it is revoked", async () => await status_at("n2", other.key) === 401);
    assert.equal(await status_at("n2", robot.key), 200);
});

await test("shared: a key that was written into it by somebody else is none", async () => {
    const digest = createHash("sha256").update("s".repeat(43)).digest("hex");
    const forged = { id: "0123456789ab", digest, principal: "ann", scopes: "mcp:admin", profile: "", networks: "", expires: 0, revoked: 0 };
    const known = await value_of(`key/${robot.id}`);
    for (const signature of ["", "0".repeat(64), known.slice(0, 64)]) {
        await etcd.put(`${PREFIX}key/0123456789ab`, signature + JSON.stringify(forged));
        assert.equal(await status_at("n2", `cmk_0123456789ab_${"s".repeat(43)}`), 401);
    }
    await etcd.put(`${PREFIX}key/0123456789ab`, known);    // another one's, in its place
    assert.equal(await status_at("n2", `cmk_0123456789ab_${robot.key.slice(-43)}`), 401);
});

// ---------------------------------------------------------------- lists
/// The requests that the server has passed on to each other one.
async function passed_on(name) {
    const text = await (await at(name).get("/metrics")).text();
    const requests = [...text.matchAll(/^cmcp_member_requests_total\{(.*)\} (\d+)$/gm)];
    const to = (member) => requests.filter(([, labels]) => labels.includes(`member="${member}"`)).reduce((sum, [, , count]) => sum + Number(count), 0);
    return Object.fromEntries(names.filter((each) => each !== name).map((each) => [each, to(each)]));
}

async function servers_asked_by(name, action) {
    const before = await passed_on(name);
    await action();
    const after = await passed_on(name);
    return Object.keys(after).filter((each) => after[each] !== before[each]);
}

await test("shared: lists ask only the servers that have something of the caller", async () => {
    const { key } = JSON.parse(command("n1", "key", "create", "carl", "--json"));
    const by_carl = (name) => new caller(cluster.node(name).url, key);
    for (const name of names) await until(`${name} knows the key`, async () => await status_at(name, key) === 200);
    const sandboxes = (name, expected) => async () => assert.deepEqual((await by_carl(name).call("list_sandboxes")).sandboxes.map(({ sandbox_id }) => sandbox_id), expected);
    await until("nobody is asked", async () => (await servers_asked_by("n3", sandboxes("n3", []))).length === 0);
    const { sandbox_id } = await by_carl("n1").call("create_sandbox");
    const owner = node_of(sandbox_id);
    for (const name of names) assert.deepEqual(await servers_asked_by(name, sandboxes(name, [sandbox_id])), name === owner ? [] : [owner]);
    const { job_id } = await by_carl(owner).call("execute_terminal_command", { sandbox_id, command: "true", run_in_background: true });
    const jobs = async () => assert.deepEqual((await by_carl(another(owner)).call("job_list")).jobs.map((job) => job.job_id), [job_id]);
    assert.deepEqual(await servers_asked_by(another(owner), jobs), [owner]);
    await by_carl(another(owner)).call("delete_sandbox", { sandbox_id });
    await sandboxes(third(owner), [])();
});

// ---------------------------------------------------------------- quotas of the command
const quotas_at = (name) => JSON.parse(command(name, "quota", "list", "--json")).filter(({ from }) => from === "container-mcp quota");

await test("shared: a quota that is set at one server counts at all, and one that is taken back does not", async () => {
    command("n1", "quota", "set", "ann", "sandboxes=1");
    const begun = performance.now();
    await until("n3 knows the quota", async () => {
        const { value } = await at("n3").rest("create_sandbox");
        if (value.sandbox_id) await at("n3").call("delete_sandbox", { sandbox_id: value.sandbox_id });
        return value.error_type === "QuotaExceeded" && /your quota of sandboxes allows \(1,/.test(value.error);
    });
    console.log(`# a quota counted at another server after ${((performance.now() - begun) / 1000).toFixed(2)} s`);
    command("n2", "quota", "clear", "ann", "sandboxes");
    await until("n1 has it no more", () => quotas_at("n1").length === 0);
    await until("n3 has it no more", () => quotas_at("n3").length === 0);
});

await test("shared: quotas that somebody else wrote into it are none", async () => {
    command("n1", "quota", "set", "ann", "jobs=7");
    await until("n3 keeps it", () => quotas_at("n3").some(({ value }) => value === 7));
    const sealed = await value_of("limit/ann/jobs");
    await etcd.put(`${PREFIX}limit/bob/jobs`, sealed);
    await etcd.put(`${PREFIX}limit/ann/tasks`, sealed.slice(0, 64) + sealed.slice(64).replace('"jobs"', '"tasks"'));
    command("n2", "quota", "set", "ann", "jobs=2");
    await until("n3 keeps the next one", () => quotas_at("n3").some(({ value }) => value === 2));
    for (const name of names) assert.deepEqual(quotas_at(name).map(({ principal, name, value }) => [principal, name, value]), [["ann", "jobs", 2]]);
});

await test("shared: keys of an authorization server that one server has fetched serve at all", async () => {
    for (const name of names) {
        const token = await machine_token(as, { resource: `${cluster.node(name).url}/mcp` });
        assert.equal(await status_at(name, token), 200);
    }
    assert.equal(as.asked.filter((address) => address.startsWith("/jwks")).length, 1, as.asked.join());
});

// ---------------------------------------------------------------- it is away
async function all_work() {
    for (const name of names) {
        assert.equal(await at(name).run(boxes[another(name)], "cat whose"), `${another(name)}\n`);
        const { sandbox_id } = await at(name).call("create_sandbox");
        await at(third(name)).call("delete_sandbox", { sandbox_id });
    }
}

const is_ready = (name) => until(`${name} serves`, async () => (await fetch(`${cluster.node(name).url}/healthz`)).ok);

await test("shared: killed and back, it has what it had: quotas, keys, limits and names", async () => {
    await etcd.kill();
    await etcd.start();
    await Promise.all(names.map(is_ready));
    await all_work();
    assert.equal(await status_at("n2", robot.key), 200, "a key that was known is unknown");
    for (const name of names) assert.equal(quotas_at(name).length, 1);
    assert.equal(await at("n1").run("of-n2", "echo there"), "there\n");
    const { sandbox_id } = await at("n1").call("create_sandbox");      // the sixth
    for (const name of names) assert.equal((await refusal(name, "create_sandbox")).error_type, "QuotaExceeded");
    await at("n2").call("delete_sandbox", { sandbox_id });
});

await test("shared: what a lost server had counts no more, and its names lead nowhere", async () => {
    const job = (name) => at(name).rest("execute_terminal_command", { sandbox_id: boxes[name], command: "sleep 1000", run_in_background: true });
    for (let i = 0; i < 2; ++i) assert((await job("n2")).value.job_id, "no job begins");
    assert.equal((await job("n1")).value.error_type, "QuotaExceeded");
    await cluster.node("n2").kill();
    await until("its lease has ended", async () => await alive("n1") === "1");
    assert.deepEqual((await at("n1").call("list_sandboxes")).unreachable_nodes, ["n2"]);
    assert.equal((await refusal("n1", "execute_terminal_command", { sandbox_id: "of-n2", command: "true" })).error_type, "NotFound");
    await cluster.node("n2").start();
    await until("it is back", async () => (await refusal("n1", "execute_terminal_command", { sandbox_id: "of-n2", command: "true" })).exit_code === 0);
    const { job_id } = (await job("n1")).value;   // those of n2 ended with it
    await at("n3").call("job_kill", { job_id });
});

// ---------------------------------------------------------------- what it costs
await test("shared: its costs are printed", async () => {
    const alone = await start_server({ settings: { MCP_AUTH_TOKENS: TOKENS, BASH_ALLOWED_COMMANDS: "*" } });
    const here = at("n1").at(alone.url);
    const { sandbox_id } = await here.call("create_sandbox");
    for (const [tool, args] of Object.entries({ list_sandbox_files: {}, execute_terminal_command: { command: "true" } })) {
        const [with_others, by_itself] = await by_turns(200, 20, [() => at("n1").call(tool, { ...args, sandbox_id: boxes.n1 }), () => here.call(tool, { ...args, sandbox_id })]);
        console.log(`# ${tool}: ${with_others.toFixed(2)} ms in a cluster, ${by_itself.toFixed(2)} ms at a server alone, ratio ${(with_others / by_itself).toFixed(2)}`);
    }
    await alone.stop();
}, 180_000);

await test("shared: the servers stop and leave nothing", async () => {
    await stop();
    await as.stop();
});
process.exit();
