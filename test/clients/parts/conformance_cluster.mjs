// The public conformance suites against three fixture servers that work as one, through HAProxy: all is as at a server alone, however requests
// come to the servers.
import assert from "node:assert/strict";
import { start_cluster } from "../lib/cluster.mjs";
import { start_haproxy } from "../lib/haproxy.mjs";
import { test } from "../lib/report.mjs";
import { fixture, start_fixture, test_suites } from "../lib/suites.mjs";

const cluster = await start_cluster({ program: fixture });
const front = await start_haproxy(cluster.nodes);

const servers_of = async (url) => new Set(await Promise.all(Array.from({ length: 12 }, async () => (await fetch(`${url}/healthz`)).headers.get("x-served-by"))));

await test("conformance-cluster: the balancer gives requests to each server in turn, and where it is sticky to one", async () => {
    assert.equal((await servers_of(front.in_turn)).size, cluster.nodes.length);
    assert.equal((await servers_of(front.sticky)).size, 1);
});
const alone = await start_fixture();
const at_one = await test_suites(alone.port, " at a server alone");
for (const [way, where] of [["in_turn", "each request to the next server"], ["by_handle", "each request by its handle"], ["sticky", "all of a client to one server"]])
    await test_suites(new URL(front[way]).port, ` through HAProxy, ${where}`, at_one);
await test("conformance-cluster: HAProxy and the servers stop and leave nothing", async () => {
    await alone.stop();
    await front.stop();
    await cluster.stop();
});
process.exit();
