// Both TypeScript clients go through the whole list over HTTPS of the server's own. Node reads NODE_EXTRA_CA_CERTS when it starts, so
// this file starts itself with it.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { KINDS } from "../lib/clients.mjs";
import { go_through } from "../lib/calls.mjs";
import { test } from "../lib/report.mjs";
import { start_server } from "../lib/server.mjs";
import { make_certificate } from "../lib/tls_front.mjs";

if (!process.env.CMCP_TLS_KEY) {
    const { key, certificate } = make_certificate("IP:127.0.0.1");
    const env = { ...process.env, CMCP_TLS_KEY: key, NODE_EXTRA_CA_CERTS: certificate };
    process.exit(spawnSync(process.execPath, [fileURLToPath(import.meta.url)], { env, stdio: "inherit" }).status ?? 2);
}

const settings = { BASH_TIMEOUT_MAX: "77", TLS_KEY: process.env.CMCP_TLS_KEY, TLS_CERT: process.env.NODE_EXTRA_CA_CERTS };
for (const [name, kind] of Object.entries(KINDS).filter(([, each]) => !each.stdio)) {
    const server = await start_server({ settings });
    try {
        await go_through(`${name} over TLS`, kind, { url: server.url, settings });
    } finally {
        await test(`${name} over TLS: the server stops and leaves nothing`, () => server.stop());
    }
}
process.exit();
