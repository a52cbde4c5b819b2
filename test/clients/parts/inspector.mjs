// The Inspector's command line on both HTTP endpoints and in both eras.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "../lib/report.mjs";
import { start_server, temporary_folder } from "../lib/server.mjs";
import { good, TOOLS } from "../lib/shapes.mjs";

const home = temporary_folder();
const folder = path.resolve(import.meta.dirname, "../node_modules/@modelcontextprotocol/inspector");
const launcher = path.join(folder, JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8")).bin.inspector);

async function inspector(args) {
    const child = spawn(process.execPath, [launcher, "--cli", ...args, "--format", "json"], {
        cwd: home, stdio: ["ignore", "pipe", "pipe"],
        env: { PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`, HOME: home, NO_COLOR: "1", NO_PROXY: "*" },
    });
    let out = "", err = "";
    child.stdout.on("data", (chunk) => { out += chunk; });
    child.stderr.on("data", (chunk) => { err += chunk; });
    const code = await new Promise((done) => child.on("close", done));
    return { code, out, err };
}

async function value(args) {
    const run = await inspector(args);
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
process.exit();
