// Servers behind a front that gives each request to the next, a caller, and a sandbox of his at each server.
import assert from "node:assert/strict";
import { caller } from "./caller.mjs";
import { node_of, start_cluster } from "./cluster.mjs";
import { start_haproxy } from "./haproxy.mjs";
import { start_round_robin } from "./http_front.mjs";

const TOKEN = "a".repeat(32);

async function start_front(cluster, machines) {
    if (!machines) return start_round_robin(cluster.ports);
    const balancer = await start_haproxy(cluster.nodes);
    return { ...balancer, url: balancer.in_turn };
}

/// The file `whose` in each of `boxes` has the name of its server. `at(name)` is the caller at that server. With `machines` each server
/// is on a machine of its own, and HAProxy is the front.
export async function start_rig(settings = {}, { machines, etcd } = {}) {
    const names = machines?.all.map(({ name }) => name) ?? ["n1", "n2", "n3"];
    const cluster = await start_cluster({ names, machines, etcd, settings: { MCP_AUTH_TOKENS: `ann=${TOKEN}`, BASH_ALLOWED_COMMANDS: "*", ...settings } });
    const front = await start_front(cluster, machines);
    const ann = new caller(front.url, TOKEN);
    const at = (name) => ann.at(cluster.node(name).url);
    const another = (name) => names[(names.indexOf(name) + 1) % names.length];
    const boxes = {};
    for (const name of names) {
        boxes[name] = (await at(name).call("create_sandbox")).sandbox_id;
        assert.equal(node_of(boxes[name]), name, "a handle does not name its server");
        await at(name).run(boxes[name], `echo ${name} > whose`);
    }
    const stop = async () => {
        await front.stop();
        await cluster.stop();
    };
    return { cluster, etcd: cluster.etcd, front, ann, names, at, another, third: (name) => another(another(name)), boxes, stop };
}
