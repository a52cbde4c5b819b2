// Usage: agents.mjs [NAME…] — Claude Code, Codex, opencode and Gemini CLI as npm has them, each with a scripted model and a server of its own. What the model
// is given is compared to the letter: the list of tools, a text, an image, a refusal, and a text after the server was started anew.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { start_model } from "../lib/model_apis.mjs";
import { end, descendants } from "../lib/processes.mjs";
import { fail, test } from "../lib/report.mjs";
import { free_port, start_server, temporary_folder } from "../lib/server.mjs";

const modules = path.resolve(import.meta.dirname, "../programs/node_modules");
const machine = process.arch === "arm64" ? "arm64" : "x64";
// One white point.
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mP8/x8AAwMCAO+ip1sAAAAASUVORK5CYII=";
const quiet = { DISABLE_AUTOUPDATER: "1", DISABLE_TELEMETRY: "1", DISABLE_ERROR_REPORTING: "1", DO_NOT_TRACK: "1", NO_COLOR: "1", CI: "1" };

function write(file, content) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
}

const MISSING = 'path "no/such.txt" does not exist; file_list shows what does.';

/// Each: its program, what it is told of the server and the model, how its model knows a tool (`shown`), and what it puts around a text (`bare` takes it away).
/// `trims`: it takes the white space at a text's end away. `failed`: the text of a refusal, where it differs from that of a result.
const AGENTS = {
    "claude-code": (home, server, model) => {
        write(path.join(home, "mcp.json"), { mcpServers: { box: { type: "http", url: server } } });
        return {
            command: [path.join(modules, `@anthropic-ai/claude-code-linux-${machine}/claude`), "-p", "go", "--mcp-config", path.join(home, "mcp.json"), "--strict-mcp-config",
                "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"],
            env: { ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: "x", IS_SANDBOX: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", ENABLE_TOOL_SEARCH: "false", CLAUDE_CONFIG_DIR: path.join(home, "claude") },
            shown: (tool) => `mcp__box__${tool}`,
            trims: true,
            bare: (text) => text.replace(/\n{0,2}<system-reminder>[^]*<\/system-reminder>$/, "").replace(/\[Image: source: [^\]]*\]$/, ""),
        };
    },
    codex: (home, server, model) => {
        write(path.join(home, "codex", "config.toml"), `model = "gpt-5"\nmodel_provider = "scripted"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\ncheck_for_update_on_startup = false\n`
            + `[model_providers.scripted]\nname = "scripted"\nbase_url = "${model}/v1"\nwire_api = "responses"\nrequires_openai_auth = false\n`
            + `[analytics]\nenabled = false\n[mcp_servers.box]\nurl = "${server}"\nstartup_timeout_sec = 60\n`);
        return {
            command: [path.join(modules, ".bin/codex"), "exec", "--skip-git-repo-check", "go"],
            env: { CODEX_HOME: path.join(home, "codex") },
            shown: (tool) => `mcp__box ${tool}`,
            bare: (text) => text.replace(/^Wall time: [\d.]+ seconds\nOutput:/, ""),
        };
    },
    opencode: (home, server, model) => {
        write(path.join(home, "opencode.json"), {
            $schema: "https://opencode.ai/config.json", autoupdate: false, share: "disabled", model: "scripted/scripted-1", small_model: "scripted/scripted-1",
            provider: { scripted: { npm: "@ai-sdk/openai-compatible", name: "scripted", options: { baseURL: `${model}/v1`, apiKey: "x" },
                models: { "scripted-1": { name: "scripted-1", attachment: true, tool_call: true, modalities: { input: ["text", "image"], output: ["text"] } } } } },
            mcp: { box: { type: "remote", url: server, enabled: true, oauth: false } }, permission: { "*": "allow" },
        });
        return {
            command: [path.join(modules, "opencode-linux-x64-baseline/bin/opencode"), "run", "go"],
            env: { OPENCODE_CONFIG: path.join(home, "opencode.json"), OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_DEFAULT_PLUGINS: "1", OPENCODE_DISABLE_LSP_DOWNLOAD: "1" },
            shown: (tool) => `box_${tool}`,
            bare: (text) => text,
        };
    },
    gemini: (home, server, model) => {
        write(path.join(home, ".gemini", "settings.json"), {
            mcpServers: { box: { httpUrl: server, trust: true, timeout: 60000 } }, security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
            telemetry: { enabled: false }, privacy: { usageStatisticsEnabled: false }, general: { disableAutoUpdate: true, disableUpdateNag: true, enableAutoUpdate: false },
        });
        return {
            command: [path.join(modules, ".bin/gemini"), "-p", "go", "--yolo", "-m", "gemini-2.5-flash"],
            env: { GEMINI_API_KEY: "x", GOOGLE_GEMINI_BASE_URL: model, GEMINI_CLI_TRUST_WORKSPACE: "true" },
            shown: (tool) => `mcp_box_${tool}`,
            bare: (text) => text.replace(/^<untrusted_context>\n([^]*)\n<\/untrusted_context>/, "$1").replace(/\n\[Tool 'view_file' provided [^\]]*\]$/, ""),
            failed: (text) => JSON.parse(JSON.parse(text).error.replace(/^[^]*? with response: /, ""))[0].functionResponse.response.content[0].text,
        };
    },
};

/// Runs a program to its end; {code, text}.
async function run([program, ...args], env, cwd, limit_ms) {
    const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece) => { text += piece; });
    const late = setTimeout(() => end([child.pid, ...descendants(child.pid)]), limit_ms);
    const code = await new Promise((done) => {
        child.on("error", (error) => { text += error.message; done(-1); });
        child.on("close", done);
    });
    clearTimeout(late);
    return { code, text };
}

async function tools_of(server) {
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
    const answer = await fetch(`${server.url}/mcp`, {
        method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta } }),
    });
    return (await answer.json()).result.tools.map((tool) => tool.name);
}

async function try_agent(name) {
    const settings = { MCP_PORT: String(await free_port()) };
    let server = await start_server({ settings });
    const offered = await tools_of(server);
    const folder = server.folder;
    const home = temporary_folder();
    const again = async () => {
        await server.stop({ keep: true });
        server = await start_server({ settings, folder });
    };
    fs.mkdirSync(path.join(server.root, "workspace"), { recursive: true });
    fs.writeFileSync(path.join(server.root, "workspace", "point.png"), Buffer.from(PNG, "base64"));
    const model = await start_model([
        { tool: "system_run_command", args: { command: "echo one; echo '\"two\"'" } },
        { tool: "view_file", args: { path: "point.png" } },
        { tool: "file_read", args: { path: "no/such.txt" } },
        { tool: "system_run_command", args: { command: "echo after" }, before: again },
    ]);
    const agent = AGENTS[name](home, `${server.url}/mcp`, model.url);
    if (!fs.existsSync(agent.command[0])) {
        console.log(`# ${name}: not run, npm has none for this machine`);
        model.close();
        return server.stop();
    }
    const env = { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: `${home}/config`, XDG_DATA_HOME: `${home}/data`, XDG_CACHE_HOME: `${home}/cache`, XDG_STATE_HOME: `${home}/state`, LANG: "C.UTF-8", TERM: "dumb", ...quiet, ...agent.env };
    fs.mkdirSync(path.join(home, "project"));
    const ran = await run(agent.command, env, path.join(home, "project"), 240_000);
    const { seen } = model;
    if (process.env.CMCP_TEST_TRACE) console.log(ran, JSON.stringify(seen, null, 1));
    const result = (at, unwrap = agent.bare) => {
        assert(seen.results[at], `${seen.results.length} results; exit ${ran.code}: ${seen.problems.join(" ")} ${ran.text.slice(-300)}`);
        return { ...seen.results[at], text: unwrap(seen.results[at].text) };
    };
    const printed = (text) => ({ text: agent.trims ? text.trimEnd() : text, images: [] });
    await test(`${name}: its model is offered every tool`, () => {
        const missing = offered.filter((tool) => !seen.tools.includes(agent.shown(tool)));
        assert(offered.length > 40 && !missing.length, `of ${offered.length} tools it lacks ${missing.join(" ")}; exit ${ran.code}: ${ran.text.slice(-300)}`);
    });
    await test(`${name}: a text is given as it was printed`, () => assert.deepEqual(result(0), printed('one\n"two"\n')));
    await test(`${name}: an image is given as an image`, () => assert.deepEqual(result(1), { text: "path: point.png; about: 68 bytes", images: [PNG] }));
    await test(`${name}: a refusal is given as a refusal`, () => assert.equal(result(2, agent.failed ?? agent.bare).text, MISSING));
    await test(`${name}: the call after a restart of the server works`, () => {
        assert.deepEqual(result(3), printed("after\n"));
        assert(ran.code === 0 && seen.results.length === 4, `exit ${ran.code}, ${seen.results.length} results: ${ran.text.slice(-300)}`);
    });
    model.close();
    await server.stop();
}

const wanted = process.argv.slice(2);
for (const name of wanted.length ? wanted : Object.keys(AGENTS))
    await try_agent(name).catch((error) => fail(name, error.message));
