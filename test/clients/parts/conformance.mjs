// The public conformance suites against the fixture server: all that a revision requires must pass.
import { test } from "../lib/report.mjs";
import { start_fixture, test_suites } from "../lib/suites.mjs";

const server = await start_fixture();
await test_suites(server.port);
await test("conformance: the fixture server stops and leaves nothing", () => server.stop());
process.exit();
