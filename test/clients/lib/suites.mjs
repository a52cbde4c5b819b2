// Runs the public conformance suites against the fixture server and reads their summaries.
import { spawn } from "node:child_process";
import path from "node:path";
import { build, start_server, temporary_folder } from "./server.mjs";

const FIXTURE = path.join(build, "test", "conformance_server");

async function listens(url) {
    try {
        await fetch(`${url}/mcp`);
        return true;
    } catch {
        return false;
    }
}

export const start_fixture = () => start_server({ command: [FIXTURE], ready: listens });

/// {code, text} of one run; `version` is the package's alias in package.json.
export async function run_suite(version, server, args) {
    const file = path.resolve(import.meta.dirname, "..", "node_modules", version, "dist", "index.js");
    // The host must be spelt localhost for the DNS rebinding scenario.
    const all = [file, "server", "--url", `http://localhost:${server.port}/mcp`, ...args];
    const child = spawn(process.execPath, all, { cwd: temporary_folder(), stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => { text += chunk; });
    const code = await new Promise((done) => child.on("close", done));
    return { code, text };
}

/// [{name, passed, failed}] of the summary's lines "✗ ping: 0 passed, 1 failed".
export function scenarios({ text }) {
    const summary = text.slice(text.lastIndexOf("=== SUMMARY ==="));
    return [...summary.matchAll(/^[^\w\n]*([\w-]+): (\d+) passed, (\d+) failed/gm)]
        .map(([, name, passed, failed]) => ({ name, passed: Number(passed), failed: Number(failed) }))
        .filter(({ name }) => name !== "Total");
}

/// Names that the suite runs without letting them decide.
export function unscored({ text }) {
    return [...text.matchAll(/^ +\S+ ([\w-]+) \((?:extension|pending)\)/gm)].map(([, name]) => name);
}

/// What the suite said between the start of a scenario and the next one.
export function detail({ text }, name) {
    const part = text.split(/=== Running scenario: /).find((each) => each.startsWith(`${name} `)) ?? "";
    return part.split("=== SUMMARY")[0].split("\n").slice(1).join("\n");
}
