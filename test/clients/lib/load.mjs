// Runs container-mcp-load.
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { build } from "./server.mjs";

/// Ends with {code, out, err}. `environment` is added to ours.
export async function load(args, environment = {}) {
    const { CONTAINER_MCP_TOKEN, SSL_CERT_FILE, ...ours } = process.env;
    const child = spawn(path.join(build, "container-mcp-load"), args, {
        env: { ...ours, ...environment }, stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "", err = "";
    child.stdout.setEncoding("utf8").on("data", (text) => { out += text; });
    child.stderr.setEncoding("utf8").on("data", (text) => { err += text; });
    const [code] = await once(child, "close");
    return { code, out, err };
}
