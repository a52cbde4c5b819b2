// A caller with a token at one address: by REST, by stateless requests, and by sessions.
import assert from "node:assert/strict";
import { legacy_session, MODERN_META, open } from "./wire.mjs";

const HANDLES = { sandbox_id: "Sandbox-Id", job_id: "Job-Id", shell_id: "Shell-Id", snapshot: "Snapshot-Id" };
const NAMED_BY = { "tools/call": "name", "resources/read": "uri", "tasks/get": "taskId", "tasks/cancel": "taskId", "tasks/update": "taskId" };
const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/// The response among what came back on a POST, once that has ended.
export async function reply(exchange) {
    await exchange.ended;
    const all = exchange.events.length ? exchange.messages() : [exchange.json()];
    const response = all.find((message) => "result" in message || "error" in message);
    assert(response, `no response with status ${exchange.status()}: ${JSON.stringify(all)}`);
    return response;
}

/// The text of the progress notifications so far.
export const progress = (exchange) =>
    exchange.messages().filter(({ method }) => method === "notifications/progress").map(({ params }) => params.message ?? "").join("");

function handle_headers(args) {
    const named = Object.entries(HANDLES).filter(([argument]) => typeof args?.[argument] === "string");
    return Object.fromEntries(named.map(([argument, header]) => [`Mcp-Param-${header}`, args[argument]]));
}

export class caller {
    constructor(url, token) {
        this.url = url;
        this.token = token;
        this.headers = token ? { Authorization: `Bearer ${token}` } : {};
    }

    /// The same caller at another address.
    at(url) { return new caller(url, this.token); }

    get(path, headers = {}) { return fetch(this.url + path, { headers: { ...this.headers, ...headers } }); }

    async rest(tool, body = {}, headers = {}) {
        const answer = await fetch(`${this.url}/mcp/tools/${tool}`, {
            method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...this.headers, ...headers },
        });
        return { status: answer.status, headers: answer.headers, value: await answer.json() };
    }

    /// The result of a tool that must succeed.
    async call(tool, args = {}) {
        const { status, value } = await this.rest(tool, args);
        assert.equal(status, 200, `${tool}: ${JSON.stringify(value).slice(0, 300)}`);
        return value;
    }

    /// The output of a command in a sandbox.
    async run(sandbox_id, command) { return (await this.call("execute_terminal_command", { sandbox_id, command })).stdout; }

    rest_events(tool, body) {
        return open(`${this.url}/mcp/tools/${tool}`, { headers: { ...this.headers, Accept: "text/event-stream" }, body });
    }

    /// A request of 2026-07-28.
    modern(method, params = {}, { capabilities = TASKS, headers = {}, meta = {} } = {}) {
        const name = params[NAMED_BY[method]];
        const own = { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, ...(name ? { "Mcp-Name": name } : {}), ...handle_headers(params.arguments) };
        const _meta = { ...MODERN_META, "io.modelcontextprotocol/clientCapabilities": capabilities, ...meta };
        const body = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } };
        return open(`${this.url}/mcp`, { headers: { ...this.headers, ...own, ...headers }, body });
    }

    /// A call of a tool with its output while it runs.
    tool(name, args) { return this.modern("tools/call", { name, arguments: args }, { capabilities: {}, meta: { progressToken: "p" } }); }

    /// A call that may become a task, which those that want progress do not.
    task(name, args) { return this.modern("tools/call", { name, arguments: args }); }

    /// A session of an older revision over Streamable HTTP.
    async session(revision) {
        const { headers } = await legacy_session(this.url, revision, this.headers);
        let last = 0;
        const post = (method, params) => open(`${this.url}/mcp`, { headers, body: { jsonrpc: "2.0", id: ++last, method, params } });
        return {
            id: headers["Mcp-Session-Id"], headers, post,
            notify: (method, params) => open(`${this.url}/mcp`, { headers, body: { jsonrpc: "2.0", method, params } }).ended,
            call: (name, args) => post("tools/call", { name, arguments: args, _meta: { progressToken: "p" } }),
            listen: () => open(`${this.url}/mcp`, { method: "GET", headers: { ...headers, Accept: "text/event-stream" } }),
            end: async () => { const all = open(`${this.url}/mcp`, { method: "DELETE", headers }); await all.ended; return all.status(); },
        };
    }
}
