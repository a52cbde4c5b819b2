#!/usr/bin/env node
// Three servers that work as one behind a front that gives each request to the next one, as one program that is started in place of
// `container-mcp serve`: with its settings as variables, MCP_PORT for the front, until SIGTERM. CMCP_SERVE names this file for tests.
// CMCP_MACHINES ("n1 n2 n3"): a server on each of these machines, which are there, and HAProxy as the front.
import { start_cluster } from "./cluster.mjs";
import { start_haproxy } from "./haproxy.mjs";
import { start_round_robin } from "./http_front.mjs";
import { present_machines } from "./machines.mjs";

const OWN = ["PATH", "HOME", "LANG", "MCP_HOST", "MCP_PORT", "SANDBOX_ROOT", "CMCP_BUILD", "CMCP_SERVE", "CMCP_MACHINES"];
const settings = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OWN.includes(name)));

const names = process.env.CMCP_MACHINES?.split(" ");
const port = Number(process.env.MCP_PORT);
if (names && !settings.MCP_AUTH_TOKENS) settings.MCP_AUTH = "none";     // addresses of machines are not loopback
const cluster = await start_cluster({ settings, ...(names && { names, machines: present_machines(names) }) });
const front = names ? await start_haproxy(cluster.nodes, port) : await start_round_robin(cluster.ports, port);

process.once("SIGTERM", async () => {
    try {
        await front.stop();
        await cluster.stop();
        process.exit(0);
    } catch (error) {
        console.error(error.message);
        process.exit(1);
    }
});
