// What servers that work as one cost: a call through a balancer and one that is passed on, processor time of a call by the number of
// servers, and what each of them spends on the others and on etcd while nobody calls. Prints figures; scripts/bench-cluster starts it.
import fs from "node:fs";
import { by_turns } from "../lib/by_turns.mjs";
import { caller } from "../lib/caller.mjs";
import { start_cluster } from "../lib/cluster.mjs";
import { haproxy, start_haproxy } from "../lib/haproxy.mjs";
import { load } from "../lib/load.mjs";
import { pause } from "../lib/report.mjs";

const TOKEN = "a".repeat(32);
const SETTINGS = { MCP_AUTH_TOKENS: `ann=${TOKEN}`, BASH_ALLOWED_COMMANDS: "*", LOG_LEVEL: "WARNING" };
const quick = process.argv.includes("--quick");
const names_of = (count) => Array.from({ length: count }, (_, i) => `n${i + 1}`);

// proc_pid_stat(5), fields 14 and 15, in ticks of 10 ms.
function processor_ms(pid) {
    const fields = fs.readFileSync(`/proc/${pid}/stat`, "latin1").replace(/^.*\) /, "").split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function with_servers(count, body) {
    const cluster = await start_cluster({ names: names_of(count), settings: SETTINGS });
    try {
        return await body(cluster);
    } finally {
        await cluster.stop();
    }
}

async function print_ways(cluster) {
    const ann = (node) => new caller(cluster.node(node).url, TOKEN);
    const { sandbox_id } = await ann("n1").call("create_sandbox");
    const balancer = fs.existsSync(haproxy) ? await start_haproxy(cluster.nodes) : undefined;
    const straight = () => ann("n1").call("list_sandbox_files", { sandbox_id });
    const passed_on = () => ann("n2").call("list_sandbox_files", { sandbox_id });
    const files_at = (url) => async () => (await new caller(url, TOKEN).get(`/sandbox/files?sandbox_id=${sandbox_id}`)).text();
    const count = quick ? 200 : 1000;
    const [own, other] = await by_turns(count, 50, [straight, passed_on]);
    console.log(`a call at its own server: ${own.toFixed(2)} ms; passed on by another: ${other.toFixed(2)} ms, ${(other - own).toFixed(2)} ms more`);
    if (!balancer) return console.log("HAProxy is not installed");
    const [without, through] = await by_turns(count, 50, [files_at(cluster.node("n1").url), files_at(balancer.by_handle)]);
    console.log(`a request to its own server: ${without.toFixed(2)} ms; through HAProxy, which reads the handle: ${through.toFixed(2)} ms, ${(through - without).toFixed(2)} ms more`);
    await balancer.stop();
}

// The sessions of the load tester are spread over the servers.
async function print_call(count) {
    await with_servers(count, async (cluster) => {
        const spent = () => cluster.nodes.reduce((sum, node) => sum + processor_ms(node.server.pid), 0);
        const calls = quick ? 10_000 : 60_000;
        const options = ["--token", TOKEN, "--transport", "stateless", "--call", "system_env_var", "--sessions", "32", "--quiet", "--json", "-"];
        const urls = cluster.nodes.map(({ url }) => url);
        await load([...urls, ...options, "--count", "2000"]);
        const before = spent();
        const { out, err } = await load([...urls, ...options, "--count", String(calls), "--duration", "600"]);
        const took = spent() - before;
        if (!out.includes("{")) throw new Error(`container-mcp-load: ${err || out}`);
        console.log(`${count} servers: ${(took * 1000 / calls).toFixed(1)} µs of processor time a call, of all servers together`);
    });
}

async function idle_ms(count) {
    return with_servers(count, async (cluster) => {
        const seconds = quick ? 5 : 20;
        const wait = () => pause(seconds * 1000);
        await wait();                                                  // servers find each other
        const before = cluster.nodes.map((node) => processor_ms(node.server.pid));
        await wait();
        const each = cluster.nodes.map((node, i) => (processor_ms(node.server.pid) - before[i]) / seconds);
        return each.reduce((sum, one) => sum + one, 0) / count;
    });
}

await with_servers(3, print_ways);
for (const count of [1, 2, 4]) await print_call(count);

const counts = quick ? [3, 9] : [3, 9, 18];
const idle = [];
for (const count of counts) {
    idle.push(await idle_ms(count));
    console.log(`${count} idle servers: ${idle.at(-1).toFixed(2)} ms of processor time a second each`);
}
const each_more = (idle.at(-1) - idle[0]) / (counts.at(-1) - counts[0]);
console.log(`each server more costs each of the others ${(each_more * 1000).toFixed(0)} µs a second: a tenth of a processor at ${Math.round(100 / each_more)} servers`);
