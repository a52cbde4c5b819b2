// The two public TypeScript clients behind one small interface, so that each goes through the same list of calls.
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as SseV1 } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { environment, program, temporary_folder } from "./server.mjs";

const IDENTITY = { name: "container-mcp-tests", version: "1" };

/// What both clients offer; `call` takes {onprogress, signal, timeout}. Methods that a revision has not are absent.
function wrap(client, close, call, modern) {
    const common = {
        tools: async () => (await client.listTools()).tools,
        call,
        resources: async () => (await client.listResources()).resources,
        templates: async () => (await client.listResourceTemplates()).resourceTemplates,
        read: async (uri) => (await client.readResource({ uri })).contents,
        complete: (params) => client.complete(params),
        prompts: async () => (await client.listPrompts()).prompts,
        capabilities: () => client.getServerCapabilities(),
        server: () => client.getServerVersion(),
        close,
    };
    if (modern) return common;
    return { ...common, ping: () => client.ping(), log_level: (level) => client.setLoggingLevel(level) };
}

async function connect_v1(transport) {
    const client = new ClientV1(IDENTITY);
    await client.connect(transport);
    const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
    return { ...wrap(client, () => client.close(), call, false), revision: transport.protocolVersion ?? "" };
}

async function connect_v2(transport, mode) {
    const client = new ClientV2(IDENTITY, { versionNegotiation: { mode } });
    await client.connect(transport);
    const call = (name, args, options) => client.callTool({ name, arguments: args }, options);
    return { ...wrap(client, () => client.close(), call, mode !== "legacy"), revision: client.getNegotiatedProtocolVersion() };
}

/// A server of its own for a stdio client; `settings` as for start_server().
function stdio_parameters(settings) {
    const folder = temporary_folder();
    return { command: program, args: ["stdio"], env: environment(folder, settings), cwd: folder, stderr: "ignore" };
}

const MODERN = { pin: "2026-07-28" };

/// Every way to connect. `http` ones take the address of a running server, `stdio` ones start theirs.
export const KINDS = {
    "sdk-sse": { connect: ({ url }) => connect_v1(new SseV1(new URL(`${url}/sse`))) },
    "sdk-http": { connect: ({ url }) => connect_v1(new HttpV1(new URL(`${url}/mcp`))) },
    "sdk-stdio": { stdio: true, connect: ({ settings }) => connect_v1(new StdioV1(stdio_parameters(settings))) },
    "client2-legacy-http": { connect: ({ url }) => connect_v2(new HttpV2(new URL(`${url}/mcp`)), "legacy") },
    "client2-modern-http": { modern: true, connect: ({ url }) => connect_v2(new HttpV2(new URL(`${url}/mcp`)), MODERN) },
    "client2-legacy-stdio": { stdio: true, connect: ({ settings }) => connect_v2(new StdioV2(stdio_parameters(settings)), "legacy") },
    "client2-modern-stdio": { stdio: true, modern: true, connect: ({ settings }) => connect_v2(new StdioV2(stdio_parameters(settings)), MODERN) },
};
