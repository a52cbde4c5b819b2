// The Inspector's command line on both HTTP endpoints and in both eras, and with a login at an authorization server.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { CLIENT_DOCUMENT, start_authorization_server, way_back } from "../lib/authorization_server.mjs";
import { test } from "../lib/report.mjs";
import { free_port, start_server, temporary_folder } from "../lib/server.mjs";
import { good, TOOLS } from "../lib/shapes.mjs";

const home = temporary_folder();
const folder = path.resolve(import.meta.dirname, "../node_modules/@modelcontextprotocol/inspector");
const launcher = path.join(folder, JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8")).bin.inspector);

// `person` logs in where the Inspector shows the address of an authorization server.
async function inspector(args, person) {
    const callback = `http://127.0.0.1:${await free_port()}/callback`;
    const login = person ? ["--callback-url", callback] : [];
    const child = spawn(process.execPath, [launcher, "--cli", ...args, ...login, "--format", "json"], {
        cwd: home, stdio: ["ignore", "pipe", "pipe"],
        env: { PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`, HOME: home, NO_COLOR: "1", NO_PROXY: "*", BROWSER: "/bin/false", MCP_AUTO_OPEN_ENABLED: "true", MCP_INSPECTOR_SECRET_STORE: "memory" },
    });
    let out = "", err = "", asks = 0;
    child.stdout.on("data", (chunk) => { out += chunk; });
    child.stderr.on("data", (chunk) => {
        err += chunk;
        const shown = err.match(/navigate to: (\S+)\s/g) ?? [];
        if (!person || shown.length === asks) return;
        asks = shown.length;
        way_back(shown.at(-1).split(" ")[2].trim(), person, callback).then((url) => fetch(url)).catch((failed) => { err += `login: ${failed}`; child.kill(); });
    });
    const code = await new Promise((done) => child.on("close", done));
    return { code, out, err, asks };
}

async function value(args, person) {
    const run = await inspector(args, person);
    assert.equal(run.code, 0, `exit ${run.code}: ${(run.err + run.out).slice(0, 400)}`);
    const json = JSON.parse(run.out);
    return json.result ?? json;
}

const server = await start_server();
const ways = [
    ["inspector /sse", [`${server.url}/sse`, "--transport", "sse"]],
    ["inspector /mcp legacy", [`${server.url}/mcp`, "--transport", "http", "--protocol-era", "legacy"]],
    ["inspector /mcp modern", [`${server.url}/mcp`, "--transport", "http", "--protocol-era", "modern"]],
    ["inspector /mcp auto", [`${server.url}/mcp`, "--transport", "http", "--protocol-era", "auto"]],
];
for (const [name, way] of ways) {
    await test(`${name}: tools/list`, async () => {
        const names = (await value([...way, "--method", "tools/list"])).tools.map((tool) => tool.name);
        assert.deepEqual(TOOLS.filter((tool) => !names.includes(tool)), []);
    });
    await test(`${name}: tools/call system_run_command`, async () => {
        const call = ["--method", "tools/call", "--tool-name", "system_run_command", "--tool-arg", "command=echo from the inspector"];
        assert.equal(good("system_run_command", await value([...way, ...call])).stdout, "from the inspector\n");
    });
    await test(`${name}: resources/list`, async () => assert(Array.isArray((await value([...way, "--method", "resources/list"])).resources)));
}
await test("inspector: the tools' schemas are portable (--strict)", async () => {
    const run = await inspector([...ways[1][1], "--method", "tools/list", "--strict"]);
    assert.equal(run.code, 0, `exit ${run.code}: ${run.err.slice(0, 500)}`);
});
await test("inspector: the server stops and leaves nothing", () => server.stop());

const as = await start_authorization_server();
const closed = await start_server({ settings: { AUTH_ISSUERS: as.issuer } });
const clients = [["registered dynamically", []], ["registered before", ["--client-id", "known"]], ["known by its metadata document", ["--client-metadata-url", CLIENT_DOCUMENT]]];
for (const [how, options] of clients)
    for (const era of ["legacy", "modern"])
        await test(`inspector with OAuth, ${how}, ${era}: the person logs in and a tool runs`, async () => {
            const call = [`${closed.url}/mcp`, "--transport", "http", "--protocol-era", era, ...options, "--relogin", "--method", "tools/call", "--tool-name", "system_run_command", "--tool-arg", "command=echo let in"];
            assert.equal(good("system_run_command", await value(call, `inspector-${era}`)).stdout, "let in\n");
        });
await test("inspector with OAuth: without a person it ends with a word of the login", async () => {
    const run = await inspector([`${closed.url}/mcp`, "--transport", "http", "--stored-auth-only", "--method", "tools/list"]);
    assert.notEqual(run.code, 0);
    assert.match(run.err + run.out, /auth_required|401/);
});
await test("inspector with OAuth: the server stops and leaves nothing", () => closed.stop());
await as.stop();
process.exit();
