// The public conformance suites against the fixture server: all that a revision requires must pass.
import assert from "node:assert/strict";
import { test } from "../lib/report.mjs";
import { run_suite, scenarios, start_fixture, unscored } from "../lib/suites.mjs";

const SUITES = [
    ["conformance 0.1.16 --suite all", "conformance-0.1", ["--suite", "all"]],
    ["conformance 0.2.0-alpha.12 --requirements 2025-11-25", "conformance-0.2", ["--requirements", "2025-11-25"]],
    ["conformance 0.2.0-alpha.12 --requirements 2026-07-28", "conformance-0.2", ["--requirements", "2026-07-28"]],
];

const server = await start_fixture();
for (const [name, version, args] of SUITES) {
    await test(name, async () => {
        const run = await run_suite(version, server, args);
        const free = unscored(run);
        const all = scenarios(run);
        const failing = all.filter((each) => each.failed > 0 && !free.includes(each.name)).map((each) => each.name);
        assert(all.length > 20, `only ${all.length} scenarios ran: ${run.text.slice(-300)}`);
        assert(run.code === 0 && !failing.length, `exit ${run.code}, failing: ${failing.join(" ") || "none"}`);
    }, 280_000);
}
await test("conformance: the fixture server stops and leaves nothing", () => server.stop());
process.exit();
