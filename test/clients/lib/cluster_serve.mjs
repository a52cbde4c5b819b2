#!/usr/bin/env node
// Three servers that work as one behind a front that gives each request to the next one, as one program that is started in place of
// `container-mcp serve`: with its settings as variables, MCP_PORT for the front, until SIGTERM. CMCP_SERVE names this file for tests.
import { start_cluster } from "./cluster.mjs";
import { start_round_robin } from "./http_front.mjs";

const OWN = ["PATH", "HOME", "LANG", "MCP_PORT", "SANDBOX_ROOT", "CMCP_BUILD", "CMCP_SERVE"];
const settings = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OWN.includes(name)));

const cluster = await start_cluster({ settings });
const front = await start_round_robin(cluster.ports, Number(process.env.MCP_PORT));

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
