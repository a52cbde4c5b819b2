// An MCP server of the TypeScript SDK: node sdk_server.mjs http|stdio FOLDER-OF-PACKAGES. With http its port is the first line that it prints.
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
const [way, packages] = process.argv.slice(-2);
const sdk = (path) => import(`${packages}/@modelcontextprotocol/sdk/dist/esm/${path}.js`);
const { McpServer } = await sdk("server/mcp");

function makeServer() {
  const server = new McpServer({ name: "sdk", version: "1.0.0" });
  server.registerTool("greet", { title: "Greeting", description: "Greets", annotations: { readOnlyHint: true } }, async () => ({
    content: [{ type: "text", text: "hello from the SDK" }],
  }));
  server.registerTool("count", { description: "Counts with progress" }, async (extra) => {
    for (let i = 1; i <= 3; ++i)
      await extra.sendNotification({
        method: "notifications/progress",
        params: { progressToken: extra._meta?.progressToken, progress: i, total: 3 },
      });
    return { content: [{ type: "text", text: "counted" }] };
  });
  server.registerTool("fail", { description: "Fails" }, async () => {
    throw new Error("as it should");
  });
  server.registerTool("grow", { description: "Adds a tool" }, async () => {
    server.registerTool("grown", { description: "Was added" }, async () => ({ content: [] }));
    return { content: [] };
  });
  return server;
}

if (way === "stdio") {
  const { StdioServerTransport } = await sdk("server/stdio");
  await makeServer().connect(new StdioServerTransport());
} else {
  const { StreamableHTTPServerTransport } = await sdk("server/streamableHttp");
  const sessions = new Map();
  const http = createServer(async (request, reply) => {
    const id = request.headers["mcp-session-id"];
    let transport = sessions.get(id);
    if (id && !transport) return reply.writeHead(404).end();
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (session) => sessions.set(session, transport),
        onsessionclosed: (session) => sessions.delete(session),
      });
      await makeServer().connect(transport);
    }
    await transport.handleRequest(request, reply);
  });
  http.listen(0, "127.0.0.1", () => console.log(http.address().port));
}
