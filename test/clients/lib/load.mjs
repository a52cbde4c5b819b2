// Runs container-mcp-load.
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { build } from "./server.mjs";

/// `ended` is {code, out, err}; `interrupt()` makes it report what it has. `environment` is added to ours.
export function start_load(args, environment = {}) {
    const { CONTAINER_MCP_TOKEN, SSL_CERT_FILE, ...ours } = process.env;
    const child = spawn(path.join(build, "container-mcp-load"), args, {
        env: { ...ours, ...environment }, stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "", err = "";
    child.stdout.setEncoding("utf8").on("data", (text) => { out += text; });
    child.stderr.setEncoding("utf8").on("data", (text) => { err += text; });
    const ended = once(child, "close").then(([code]) => ({ code, out, err }));
    return { ended, interrupt: () => child.kill("SIGINT") };
}

export const load = (args, environment) => start_load(args, environment).ended;
