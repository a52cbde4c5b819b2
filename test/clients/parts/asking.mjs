// The public clients are asked about a sandbox's network by elicitation, each as its revision has it.
import http from "node:http";
import { once } from "node:events";
import assert from "node:assert/strict";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as SseV1 } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { test } from "../lib/report.mjs";
import { start_server } from "../lib/server.mjs";

const IDENTITY = { name: "asked", version: "1" };
const capabilities = { elicitation: {} };

/// A client whose user gives the answers in their order, and what it was asked.
const KINDS = {
    "sdk-sse": (url, answer) => connect(new ClientV1(IDENTITY, { capabilities }), new SseV1(new URL(`${url}/sse`)), ElicitRequestSchema, answer),
    "sdk-http": (url, answer) => connect(new ClientV1(IDENTITY, { capabilities }), new HttpV1(new URL(`${url}/mcp`)), ElicitRequestSchema, answer),
    "client2-legacy-http": (url, answer) => second(url, "legacy", answer),
    "client2-modern-http": (url, answer) => second(url, { pin: "2026-07-28" }, answer),
};

const second = (url, mode, answer) =>
    connect(new ClientV2(IDENTITY, { capabilities, versionNegotiation: { mode } }), new HttpV2(new URL(`${url}/mcp`)), "elicitation/create", answer);

async function connect(client, transport, question, answer) {
    client.setRequestHandler(question, async (request) => answer(request.params));
    await client.connect(transport);
    const call = async (name, args) => (client instanceof ClientV1 ? await client.callTool({ name, arguments: args }, undefined, { timeout: 60_000 })
        : await client.callTool({ name, arguments: args }, { timeout: 60_000 }));
    return { call, close: () => client.close() };
}

const text_of = (result) => result.content.map((each) => each.text ?? "").join("\n");

// An address that the operator opens needs no name server.
const site = http.createServer((_, response) => response.end("this is the site\n")).listen(0, "127.0.0.1");
await once(site, "listening");
const place = `127.0.0.1:${site.address().port}`;
const server = await start_server({ settings: { SANDBOX_NETWORK_ALLOWED: "127.0.0.1", SANDBOX_NETWORK_PRIVATE: "127.0.0.1", SANDBOX_NETWORK_ASK: "20" } });
const command = `curl -sS --noproxy '' http://${place}/`;

for (const [name, kind] of Object.entries(KINDS)) {
    const messages = [];
    let choice = "";
    const client = await kind(server.url, (params) => {
        messages.push(params.message);
        assert.deepEqual(Object.keys(params.requestedSchema.properties), ["answer"]);
        return choice ? { action: "accept", content: { answer: choice } } : { action: "decline" };
    });
    const sandbox = async () => text_of(await client.call("create_sandbox", { network: "ask" })).match(/sbx_\w+/)[0];
    await test(`asking, ${name}: the run goes on when its user allows the place`, async () => {
        choice = "allow for this sandbox";
        const box = await sandbox();
        for (let i = 0; i < 2; ++i) {
            const result = await client.call("execute_terminal_command", { sandbox_id: box, command });
            assert(text_of(result).includes("this is the site"), text_of(result));
        }
        assert.equal(messages.length, 1);
        assert(messages[0].endsWith(`to connect to ${place}?`), messages[0]);
    });
    await test(`asking, ${name}: a run whose user declines is refused, and is told so`, async () => {
        choice = "";
        const result = await client.call("execute_terminal_command", { sandbox_id: await sandbox(), command });
        assert(text_of(result).includes("the user was asked and did not allow it"), text_of(result));
        assert(!text_of(result).includes("this is the site"), text_of(result));
        assert.equal(messages.length, 2);
    });
    await client.close();
}
await test("asking: the server stops and leaves nothing", () => server.stop());
site.close();
process.exit();
