// Bare HTTP with server-sent events, for what a client library hides: cutting a stream and resuming it.
import http from "node:http";

const BASE = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

/// Events parsed so far from one response; `onevent` sees each as {id, data}. `cut()` drops the connection.
export function open(url, { method = "POST", headers = {}, body, onevent = () => {} }) {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const events = [];
    let rest = "", status = 0, answer = {}, raw = "";
    const take = (chunk) => {
        raw += chunk;
        const blocks = (rest + chunk).split(/\r?\n\r?\n/);
        rest = blocks.pop();
        for (const block of blocks) {
            const field = (name) => block.split(/\r?\n/).filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trim());
            const data = field("data").join("\n");
            const event = { id: field("id")[0], data: data ? JSON.parse(data) : null };
            if (event.id === undefined && !event.data) continue;
            events.push(event);
            onevent(event);
        }
    };
    const request = http.request(url, { method, headers: { ...BASE, ...headers }, agent: false });
    const ended = new Promise((done) => {
        request.on("response", (response) => {
            ({ statusCode: status, headers: answer } = response);
            response.setEncoding("utf8");
            response.on("data", take);
            response.on("end", done);
            response.on("error", done);
            response.on("close", done);
        });
        request.on("error", done);
    });
    request.end(text);
    return {
        events, ended, cut: () => request.destroy(),
        status: () => status, headers: () => answer, json: () => JSON.parse(raw),
        messages: () => events.map(({ data }) => data).filter(Boolean),
    };
}

/// A session of an older revision: {headers} for further requests. `own` headers, such as a token, go with each.
export async function legacy_session(url, revision = "2025-11-25", own = {}) {
    const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: "wire", version: "1" } };
    const first = open(`${url}/mcp`, { headers: own, body: { jsonrpc: "2.0", id: "init", method: "initialize", params } });
    await first.ended;
    const headers = { ...own, "Mcp-Session-Id": first.headers()["mcp-session-id"], "MCP-Protocol-Version": revision };
    await open(`${url}/mcp`, { headers, body: { jsonrpc: "2.0", method: "notifications/initialized" } }).ended;
    return { headers };
}

export const tool_call = (id, name, args, meta = {}) =>
    ({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args, _meta: { progressToken: `token-${id}`, ...meta } } });

export const MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": { name: "wire", version: "1" },
};
export const modern_headers = (name) => ({ "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name });
