// A small MCP server of another make: the revision 2025-03-26 alone, its tools on two pages, JSON answers without
// structuredContent, and an HTTP+SSE endpoint that is a whole address. It names itself in X-Served-By, as proxies name a server.
import { once } from "node:events";
import http from "node:http";

const PAGES = { undefined: { tools: [{ name: "first", inputSchema: { type: "object" } }], nextCursor: "2" },
                2: { tools: [{ name: "second", inputSchema: { type: "object" } }] } };
const REVISION = "2025-03-26";

function result_of({ method, params }) {
    if (method === "initialize") return { protocolVersion: REVISION, capabilities: { tools: {} }, serverInfo: { name: "old", version: "1" } };
    if (method === "tools/list") return PAGES[params?.cursor];
    return { content: [{ type: "text", text: JSON.stringify({ said: params?.name }) }] };
}

async function body_of(request) {
    let text = "";
    for await (const piece of request.setEncoding("utf8")) text += piece;
    return JSON.parse(text);
}

function refuse(response, message) {
    response.writeHead(400, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message } }));
}

/// `endpoint(url, id)` makes the address that HTTP+SSE clients are told; calls beyond `most_calls` are never answered.
export async function start_old_server({ endpoint = (url, id) => `${url}/messages?sessionId=${id}`, most_calls = Infinity } = {}) {
    const streams = new Map();
    let url, calls = 0;

    function open_stream(response) {
        const id = String(streams.size + 1);
        streams.set(id, response);
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(`event: endpoint\ndata: ${endpoint(url, id)}\n\n`);
    }

    async function by_stream(request, response, id) {
        const message = await body_of(request);
        response.writeHead(202, { "x-served-by": "old" }).end();
        if (message.id !== undefined)
            streams.get(id).write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: message.id, result: result_of(message) })}\n\n`);
    }

    async function by_post(request, response) {
        const message = await body_of(request);
        const known = request.headers["mcp-session-id"] === "old";
        if (message.method !== "initialize" && !known) return refuse(response, "Server not initialized");
        if (known && request.headers["mcp-protocol-version"] !== REVISION) return refuse(response, "another revision in the header");
        if (message.id === undefined) return response.writeHead(202).end();
        if (message.method === "tools/call" && ++calls > most_calls) return;
        response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "old", "x-served-by": "old" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: result_of(message) }));
    }

    const server = http.createServer((request, response) => {
        const at = new URL(request.url, url);
        if (at.pathname === "/sse") open_stream(response);
        else if (at.pathname === "/messages") by_stream(request, response, at.searchParams.get("sessionId"));
        else by_post(request, response);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${server.address().port}`;
    return {
        url,
        stop: () => {
            server.closeAllConnections();
            return new Promise((done) => server.close(done));
        },
    };
}
