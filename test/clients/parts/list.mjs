// Usage: list.mjs PREFIX… — every client whose name begins with a PREFIX goes through the whole list.
import { KINDS } from "../lib/clients.mjs";
import { go_through } from "../lib/calls.mjs";
import { test } from "../lib/report.mjs";
import { start_server } from "../lib/server.mjs";

const settings = { BASH_TIMEOUT_MAX: "77" };
const chosen = Object.entries(KINDS).filter(([name]) => process.argv.slice(2).some((prefix) => name.startsWith(prefix)));

// A server for each client: none finds the files of the one before.
for (const [name, kind] of chosen) {
    const server = kind.stdio ? null : await start_server({ settings });
    try {
        await go_through(name, kind, { url: server?.url, settings });
    } finally {
        if (server) await test(`${name}: the server stops and leaves nothing`, () => server.stop());
    }
}
process.exit();
