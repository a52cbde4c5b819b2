// What lists of tools cost a model: name, description and input schema of all tools of a profile, as a tokenizer counts them.
//   tokens.mjs [--print]      --print: a row a tool
import assert from "node:assert/strict";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { test } from "../lib/report.mjs";
import { start_server } from "../lib/server.mjs";
import { MODERN_META } from "../lib/wire.mjs";

const MOST = { agent: 1500, all: 4000, discover: 400 };
const PROFILES = ["agent", "discover", "interpreter", "seed-a", "seed-b", "seed-c", "all"];
const MODERN = { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list" };

// Tools whose provider or program a machine lacks are counted, too.
const server = await start_server({ settings: { WEB_SEARCH_PROVIDER: "duckduckgo", WEB_BROWSER_PATH: "/bin/true" } });

async function ask(query, method, params, headers = {}) {
    const answer = await fetch(`${server.url}/mcp${query}`, {
        method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
        headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...headers },
    });
    const text = await answer.text();
    const { result, error } = JSON.parse(text.match(/^data: (.*)$/m)?.[1] ?? text);
    assert(result, JSON.stringify(error));
    return { result, session: answer.headers.get("mcp-session-id") };
}

async function by_session(query) {
    const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "tokens", version: "1" } };
    const { result: begun, session } = await ask(query, "initialize", hello);
    const { result } = await ask(query, "tools/list", {}, { "Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25" });
    return { tools: result.tools, instructions: begun.instructions };
}

async function without_session(query) {
    const { result } = await ask(query, "tools/list", { _meta: MODERN_META }, MODERN);
    return { tools: result.tools };
}

const cost = ({ name, description, inputSchema }) => encode(JSON.stringify({ name, description, inputSchema })).length;
const sum = (tools) => tools.map(cost).reduce((a, b) => a + b, 0);

for (const profile of PROFILES) {
    const query = `?profile=${profile}`;
    await test(`tokens: the profile ${profile} fits its limit`, async () => {
        const legacy = await by_session(query), modern = await without_session(query);
        const counts = [sum(legacy.tools), sum(modern.tools)];
        console.log(`# ${profile}: ${legacy.tools.length} tools, ${counts[0]} tokens (2026-07-28: ${counts[1]}), instructions ${encode(legacy.instructions ?? "").length}`);
        if (process.argv.includes("--print")) for (const tool of legacy.tools) console.log(`#   ${String(cost(tool)).padStart(4)} ${tool.name}`);
        assert(legacy.tools.length > 0);
        for (const count of counts) assert(count <= (MOST[profile] ?? MOST.all), `${count} tokens, ${MOST[profile] ?? MOST.all} at most`);
        const words = (legacy.instructions ?? "").split(/\s+/).length;
        assert(words <= 200, `instructions of ${words} words`);
    });
}
await server.stop();
