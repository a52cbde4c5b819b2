// Random faults, round after round: a server on a machine of its own (a network namespace) is killed, held up, or restarted, some machines
// lose the road to the others, etcd, one of its members or the storage goes away. Meanwhile callers write into sandboxes, and one into his default one,
// through any server that runs, and all see both sides of a cut. What they see is judged by what a caller knows alone:
//   - a sandbox never lives twice: after it was seen to have gone back to an earlier state, nothing of the state that was left behind comes
//     back;
//   - none is lost: each answers at the end, the same through every server, and lists have each one once.
// A write that was answered may be undone by the loss of a server: that is counted, not judged. Runs when it is named: test/clients/run chaos
//   CMCP_CHAOS_ROUNDS (100), CMCP_CHAOS_SERVERS (5), CMCP_CHAOS_SEED
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { start_rig } from "../lib/cluster_rig.mjs";
import { enter_own_network, HOST, make_machines } from "../lib/machines.mjs";
import { start_object_storage } from "../lib/object_storage.mjs";
import { pause, test, until } from "../lib/report.mjs";

await enter_own_network(import.meta.filename);
const ROUNDS = Number(process.env.CMCP_CHAOS_ROUNDS ?? 100);
const seed = Number(process.env.CMCP_CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`# seed ${seed}`);

let state = seed || 1;
function below(most) {      // xorshift32
    state ^= state << 13; state ^= state >>> 17; state ^= state << 5;
    return (state >>> 0) % most;
}

const machines = make_machines(Array.from({ length: Number(process.env.CMCP_CHAOS_SERVERS ?? 5) }, (_, i) => `n${i + 1}`));
const storage = await start_object_storage({ host: HOST });
const { cluster, etcd, names, at, stop } = await start_rig({
    ...storage.settings("chaos"), SNAPSHOT_KEY: randomBytes(32).toString("hex"), SANDBOX_SNAPSHOT_EVERY: "1", MCP_DRAIN_NOTICE: "1",
}, { machines });

// ---------------------------------------------------------------- what callers see
const errors = new Map();
const count = (map, key) => map.set(key, (map.get(key) ?? 0) + 1);
const figures = { calls: 0, undone: 0, rollbacks: 0 };
const violations = [];

const DEFAULT = "default";        // in the place of a handle
const run = (name, handle, command) =>
    handle === DEFAULT ? at(name).rest("system_run_command", { command }) : at(name).rest("execute_terminal_command", { sandbox_id: handle, command });

const LONGEST = 500;        // lines of a file: an answer that is longer than its budget is shortened

/// The writes of one sandbox, one after the other, each with a word that no other has, in one file after the other.
class history {
    constructor(handle) { Object.assign(this, { handle, lines: [], left_behind: new Set(), last: 0 }); }

    get file() { return `log-${Math.floor(this.last / LONGEST)}`; }

    next_word() {
        if (++this.last % LONGEST === 0) this.lines = [];
        return `${this.handle.slice(-4)}-${this.last}`;
    }

    /// `lines` are those of `file` after a write of `word`.
    see(lines, word) {
        const twice = lines.find((line) => this.left_behind.has(line));
        if (twice !== undefined) violations.push(`${this.handle}: ${twice} was gone, and is back`);
        let common = 0;
        while (common < this.lines.length && this.lines[common] === lines[common]) ++common;
        const undone = this.lines.slice(common);
        if (undone.length) {
            ++figures.rollbacks;
            figures.undone += undone.length;
            for (const line of undone) this.left_behind.add(line);
        }
        if (word !== undefined && lines.at(-1) !== word) violations.push(`${this.handle}: the last line is not the one that was written`);
        this.lines = lines;
    }
}

const ready = () => cluster.nodes.filter((node) => node.runs && !node.held && !node.leaves);

async function write(one) {
    const servers = ready();
    if (!servers.length) return void await pause(50);
    const node = servers[below(servers.length)];
    const word = one.next_word();
    ++figures.calls;
    try {
        const call = run(node.name, one.handle, `echo ${word} >> ${one.file}; cat ${one.file}`);
        const { status, value } = await Promise.race([call, pause(30_000).then(() => { throw new Error("no answer within 30 s"); })]);
        if (status !== 200 || value.exit_code !== 0) return count(errors, value.error_type ?? value.cause ?? status);
        one.see(value.stdout.split("\n").filter(Boolean), word);
    } catch (problem) {
        count(errors, problem.cause?.code ?? problem.message);
    }
}

// A write without an answer may have been done.
async function read_again(one) {
    for (const node of ready()) {
        const { status, value } = await run(node.name, one.handle, `cat ${one.file}`).catch(() => ({}));
        if (status === 200 && value.exit_code === 0) return void one.see(value.stdout.split("\n").filter(Boolean));
    }
}

// ---------------------------------------------------------------- faults
const healthy = async (node) => (await fetch(`${node.url}/healthz`).catch(() => ({ status: 0 }))).status === 200;
const come_back = (node) => until(`${node.name} is ready`, () => healthy(node), 90_000);

const faults = {
    async killed(node) {
        await node.kill();
        await pause(below(7000));
        await node.start();
    },
    async held_up(node) {
        node.held = true;
        await node.held_up(() => pause(500 + below(9000)));
        node.held = false;
    },
    async restarted(node) {
        node.leaves = true;
        await node.stop({ keep: true });
        await node.start();
        node.leaves = false;
    },
    async cut_off() {
        const side = names.filter(() => below(2));
        machines.cut_off(side);
        await pause(500 + below(9000));
        machines.heal();
    },
    async without_etcd() {
        await etcd.kill();
        await pause(below(9000));
        await etcd.start();
    },
    async without_a_member_of_etcd() {
        const { name } = etcd.members[below(etcd.members.length)];
        await etcd.kill([name]);
        await pause(below(3000));
        await etcd.start([name]);
    },
    async without_storage() {
        await storage.stop();
        await pause(below(4000));
        await storage.start();
    },
};
const kinds = Object.keys(faults);

const histories = [];
for (let i = 0; i < 6; ++i) histories.push(new history((await at(names[i % names.length]).call("create_sandbox")).sandbox_id));
histories.push(new history(DEFAULT));

const done = new Map();
await test(`chaos: ${ROUNDS} rounds of random faults, and no sandbox lives twice`, async () => {
    let goes_on = true;
    const worker = async (one) => { while (goes_on) { await write(one); await pause(below(100)); } };
    const workers = histories.map(worker);
    for (let round = 0; round < ROUNDS; ++round) {
        const kind = kinds[below(kinds.length)];
        const node = cluster.nodes[below(cluster.nodes.length)];
        count(done, kind);
        await faults[kind](node);
        await come_back(node);
        await pause(below(1500));
        if (violations.length) break;
    }
    goes_on = false;
    await Promise.all(workers);
    assert.deepEqual(violations, []);
}, ROUNDS * 60_000);

await test("chaos: at the end each sandbox is there once, the same through each server", async () => {
    for (const node of cluster.nodes) await come_back(node);
    for (const one of histories) {
        await read_again(one);
        const texts = [];
        for (const name of names) texts.push((await run(name, one.handle, `cat ${one.file}`)).value.stdout);
        assert.equal(new Set(texts).size, 1, `${one.handle} differs by server`);
    }
    assert.deepEqual(violations, []);
    const ids = (await at("n1").call("list_sandboxes")).sandboxes.map(({ sandbox_id }) => sandbox_id);
    for (const { handle } of histories.filter(({ handle }) => handle !== DEFAULT)) assert.equal(ids.filter((id) => id === handle).length, 1, handle);
});

console.log(`# faults: ${JSON.stringify(Object.fromEntries(done))}`);
console.log(`# ${figures.calls} calls; errors by cause: ${JSON.stringify(Object.fromEntries(errors))}`);
console.log(`# ${figures.rollbacks} times a sandbox was brought without its last writes, ${figures.undone} in all`);
await test("chaos: all servers, etcd and the storage stop, and leave nothing", async () => {
    await stop();
    await storage.stop();
});
process.exit();
