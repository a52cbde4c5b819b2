// Prints how the scenarios end that no revision requires (pending ones and extensions). No part of pass or fail.
import { detail, run_suite, scenarios, start_fixture } from "./lib/suites.mjs";

const OTHERS = ["server-session-lifecycle", "server-sse-polling", "json-schema-2020-12", "http-header-validation",
    "http-custom-header-server-validation", "tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields",
    "tasks-request-state-removal", "tasks-mrtr-input", "tasks-request-headers", "tasks-dispatch-and-envelope",
    "tasks-status-notifications", "tasks-required-task-error", "tasks-mrtr-composition", "sep-2640-skills-directory",
    "sep-2640-skills-enumeration", "sep-2640-skills-manifest"];

const server = await start_fixture();
const rows = [];
const sets = [["0.1.16", await run_suite("conformance-0.1", server.port, ["--suite", "all"])]];
for (const revision of ["2025-11-25", "2026-07-28"]) {
    sets.push([`0.2 ${revision}`, await run_suite("conformance-0.2", server.port, ["--requirements", revision])]);
}
for (const name of OTHERS) {
    const found = sets.flatMap(([suite, run]) => scenarios(run).filter((each) => each.name === name).map((each) => ({ suite, run, ...each })));
    if (!found.length) rows.push([name, "not run", "", ""]);
    for (const each of found) {
        rows.push([name, each.suite, each.failed ? "FAILS" : each.passed ? "passes" : "skipped", `${each.passed}/${each.passed + each.failed}`]);
        if (each.failed && process.argv.includes("-v")) console.error(`--- ${name} (${each.suite})\n${detail(each.run, name)}`);
    }
}
await server.stop();
for (const [name, suite, verdict, checks] of rows) console.log(`${name.padEnd(38)} ${suite.padEnd(16)} ${verdict.padEnd(8)} ${checks}`);
process.exit();
