// Runs the public conformance suites against the fixture server and reads their summaries.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { test } from "./report.mjs";
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

/// As start_server() and start_cluster() start it in place of the server.
export const fixture = { command: [FIXTURE], ready: listens };
export const start_fixture = () => start_server(fixture);

/// Each run of a suite: its name, the package's alias in package.json, and its arguments.
const SUITES = [
    ["conformance 0.1.16 --suite all", "conformance-0.1", ["--suite", "all"]],
    ["conformance 0.2.0-alpha.12 --requirements 2025-11-25", "conformance-0.2", ["--requirements", "2025-11-25"]],
    ["conformance 0.2.0-alpha.12 --requirements 2026-07-28", "conformance-0.2", ["--requirements", "2026-07-28"]],
];
/// The newest one with the scenarios of drafts and extensions, none of which may fail: at one server alone.
const WHOLE = ["conformance 0.2.0-alpha.12 --suite all", "conformance-0.2", ["--suite", "all"]];

/// A test for each suite against the server at `port`: all that its revision requires must pass. `where` is the end of their names. Gives the
/// scenarios by suite. With those of another server, `as`, all must be as there, what no revision requires and what only should be, too.
export async function test_suites(port, where = "", as = undefined) {
    const seen = new Map();
    for (const [name, version, args] of where ? SUITES : [...SUITES, WHOLE])
        await test(name + where, async () => {
            const run = await run_suite(version, port, args);
            const free = name === WHOLE[0] ? [] : unscored(run);
            const all = scenarios(run);
            const failing = all.filter((each) => each.failed > 0 && !free.includes(each.name)).map((each) => each.name);
            assert(all.length > 20, `only ${all.length} scenarios ran: ${run.text.slice(-300)}`);
            assert(run.code === 0 && !failing.length, `exit ${run.code}, failing: ${failing.join(" ") || "none"}`);
            seen.set(name, all);
            const differs = all.filter((each, i) => as && !isDeepStrictEqual(each, as.get(name)?.[i]));
            assert(!differs.length, `not as elsewhere: ${differs.map((each) => `${each.name} ${each.passed} passed, ${each.failed} failed`).join("; ")}`);
        }, 280_000);
    return seen;
}

/// {code, text} of one run; `version` is the package's alias in package.json.
export async function run_suite(version, port, args) {
    const file = path.resolve(import.meta.dirname, "..", "node_modules", version, "dist", "index.js");
    // The host must be spelt localhost for the DNS rebinding scenario.
    const all = [file, "server", "--url", `http://localhost:${port}/mcp`, ...args];
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
