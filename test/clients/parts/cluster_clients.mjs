// Suites of other parts with three servers behind a front in place of the server (cluster_serve.mjs). The part machines has the other
// clients, with five servers behind HAProxy.
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import readline from "node:readline";

const here = import.meta.dirname;
const env = { ...process.env, CMCP_SERVE: path.join(here, "../lib/cluster_serve.mjs") };
const part = (name, ...words) => ["node", path.join(here, name), ...words];
const LISTS = [part("list.mjs", "sdk-sse", "client2-legacy-http")];
const STREAMS = [part("disconnect.mjs"), ["python3", path.join(here, "../../system/protocol/stream"), "--http"]];

async function run([program, ...words]) {
    const child = spawn(program, words, { env, stdio: ["ignore", "pipe", "inherit"] });
    const exit = once(child, "exit");
    for await (const line of readline.createInterface({ input: child.stdout })) console.log(line.replace(/^(ok|not ok) /, "$1 cluster: "));
    const [code] = await exit;
    if (code !== 0) process.exitCode = Math.max(process.exitCode ?? 0, code ?? 2);
}

async function run_in_order(suites) {
    for (const suite of suites) await run(suite);
}

// Streams wait more than they work, so they go beside the others.
await Promise.all([LISTS, STREAMS].map(run_in_order));
