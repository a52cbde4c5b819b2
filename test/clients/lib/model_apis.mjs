// A model as its vendors' clients reach it: Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini's generateContent, with streams. It plays a
// script of tool calls, one in each turn, and keeps what it was given: the names of the tools, and the results of its calls.
import { once } from "node:events";
import http from "node:http";

const MODEL = "scripted-1";
const text_of = (parts) => (typeof parts === "string" ? parts : (parts ?? []).map((part) => part.text ?? "").join(""));

/// What a client made of a tool's result: {text, images}. Texts of further members are `more`.
const given = (text, images = [], more = {}) => ({ text, images, ...more });

/// How each vendor's requests are read and answers are written. `call`: {id, name, args}; without one the turn ends with a text.
const anthropic = {
    fits: (url) => url.pathname.endsWith("/v1/messages"),
    tools: (body) => (body.tools ?? []).map((tool) => tool.name),
    results: (body) => body.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []).filter((part) => part.type === "tool_result")).map((part) => given(
        text_of(Array.isArray(part.content) ? part.content.filter((one) => one.type === "text") : part.content),
        Array.isArray(part.content) ? part.content.filter((one) => one.type === "image").map((one) => one.source.data) : [],
        part.is_error ? { is_error: true } : {})),
    whole: (call) => ({
        id: "msg_1", type: "message", role: "assistant", model: MODEL, stop_sequence: null, stop_reason: call ? "tool_use" : "end_turn", usage: { input_tokens: 1, output_tokens: 1 },
        content: [call ? { type: "tool_use", id: call.id, name: call.name, input: call.args } : { type: "text", text: "done" }],
    }),
    stream(call) {
        const message = anthropic.whole(call);
        const [block] = message.content;
        const start = call ? { ...block, input: {} } : { ...block, text: "" };
        const delta = call ? { type: "input_json_delta", partial_json: JSON.stringify(call.args) } : { type: "text_delta", text: block.text };
        return [
            { type: "message_start", message: { ...message, content: [], stop_reason: null } },
            { type: "content_block_start", index: 0, content_block: start }, { type: "content_block_delta", index: 0, delta }, { type: "content_block_stop", index: 0 },
            { type: "message_delta", delta: { stop_reason: message.stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } }, { type: "message_stop" },
        ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    },
    streams: (body) => body.stream,
};

const responses = {
    fits: (url) => url.pathname.endsWith("/responses"),
    // Tools of an MCP server may be members of a namespace.
    tools: (body) => (body.tools ?? []).flatMap((tool) => (tool.type === "namespace" ? tool.tools.map((one) => ({ ...one, namespace: tool.name })) : [tool])).map((tool) => (tool.namespace ? `${tool.namespace} ${tool.name}` : tool.name ?? tool.type)),
    results: (body) => (Array.isArray(body.input) ? body.input : []).filter((item) => item.type === "function_call_output").map(({ output }) => (Array.isArray(output)
        ? given(text_of(output.filter((part) => part.type === "input_text")), output.filter((part) => part.type === "input_image").map((part) => part.image_url.replace(/^data:[^,]*,/, "")))
        : given(output))),
    stream(call) {
        const [namespace, name] = call?.name.includes(" ") ? call.name.split(" ") : [undefined, call?.name];
        const item = call ? { type: "function_call", id: `fc_${call.id}`, call_id: call.id, name, ...(namespace ? { namespace } : {}), arguments: JSON.stringify(call.args) }
            : { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "done", annotations: [] }] };
        const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2, input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
        return [
            { type: "response.created", response: { id: "resp_1" } }, { type: "response.output_item.added", output_index: 0, item }, { type: "response.output_item.done", output_index: 0, item },
            { type: "response.completed", response: { id: "resp_1", output: [item], usage } },
        ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    },
    streams: () => true,
};

const completions = {
    fits: (url) => url.pathname.endsWith("/chat/completions"),
    tools: (body) => (body.tools ?? []).map((tool) => tool.function.name),
    // Images follow their results in a message of the user.
    results(body) {
        const all = [];
        for (const message of body.messages) {
            if (message.role === "tool") all.push(given(text_of(message.content)));
            if (message.role === "user" && Array.isArray(message.content))
                for (const part of message.content) if (part.type === "image_url") all.at(-1)?.images.push(part.image_url.url.replace(/^data:[^,]*,/, ""));
        }
        return all;
    },
    whole: (call) => ({
        id: "c1", object: "chat.completion", created: 1, model: MODEL, usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: call ? null : "done" } }],
    }),
    stream(call) {
        const chunk = (delta, finish_reason = null) => `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: MODEL, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
        const said = call ? { role: "assistant", tool_calls: [{ index: 0, id: call.id, type: "function", function: { name: call.name, arguments: JSON.stringify(call.args) } }] } : { role: "assistant", content: "done" };
        return [chunk(said), chunk({}, call ? "tool_calls" : "stop"), "data: [DONE]\n\n"];
    },
    streams: (body) => body.stream,
};

const gemini = {
    fits: (url) => /:(stream)?[gG]enerateContent$/.test(url.pathname),
    tools: (body) => (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []).map((tool) => tool.name),
    results(body) {
        const all = [];
        for (const { parts = [] } of body.contents)
            for (const part of parts) {
                const images = (part.functionResponse?.parts ?? []).filter((one) => one.inlineData).map((one) => one.inlineData.data);
                if (part.functionResponse) all.push(given(part.functionResponse.response.output ?? JSON.stringify(part.functionResponse.response), images));
                else if (part.inlineData) all.at(-1)?.images.push(part.inlineData.data);
            }
        return all;
    },
    whole: (call) => ({
        candidates: [{ index: 0, finishReason: "STOP", content: { role: "model", parts: [call ? { functionCall: { id: call.id, name: call.name, args: call.args } } : { text: "done" }] } }],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }, modelVersion: MODEL,
    }),
    stream: (call) => [`data: ${JSON.stringify(gemini.whole(call))}\n\n`],
    streams: (body, url) => url.pathname.includes(":stream"),
};

const VENDORS = [anthropic, responses, completions, gemini];

async function body_of(request) {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const text = Buffer.concat(pieces).toString();
    return text ? JSON.parse(text) : {};
}

/// `script`: [{tool, args, before}], where `before` is awaited ahead of that turn. Requests that do not offer the first tool (titles, counts) are answered
/// with a text. Gives {url, seen: {tools, results}, close}.
export async function start_model(script) {
    const seen = { tools: [], results: [], requests: [], problems: [] };
    const begun = new Map();

    async function turn(vendor, body) {
        const tools = vendor.tools(body);
        const offers = (tool) => tools.find((name) => name === tool || name.endsWith(`_${tool}`) || name.endsWith(` ${tool}`));
        if (!offers(script[0].tool)) return null;
        seen.tools = tools;
        seen.results = vendor.results(body);
        const at = seen.results.length;
        const step = script[at];
        if (!step) return null;
        if (!begun.has(at)) begun.set(at, Promise.resolve(step.before?.()));  // a client may ask twice
        await begun.get(at);
        return { id: `call_${at}`, name: offers(step.tool), args: step.args };
    }

    const server = http.createServer(async (request, response) => {
        const url = new URL(request.url, "http://localhost");
        seen.requests.push(`${request.method} ${url.pathname}`);
        try {
            const body = await body_of(request);
            const vendor = request.method === "POST" && VENDORS.find((each) => each.fits(url));
            if (!vendor) {
                response.writeHead(request.method === "HEAD" || /count_?tokens/i.test(url.pathname) ? 200 : 404, { "Content-Type": "application/json" });
                return response.end(JSON.stringify({ input_tokens: 1, totalTokens: 1 }));
            }
            const call = await turn(vendor, body);
            const streams = vendor.streams(body, url);
            response.writeHead(200, { "Content-Type": streams ? "text/event-stream" : "application/json" });
            if (streams) for (const event of vendor.stream(call)) response.write(event);
            response.end(streams ? "" : JSON.stringify(vendor.whole(call)));
        } catch (error) {
            seen.problems.push(error.stack);
            response.destroy();
        }
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    return {
        url: `http://127.0.0.1:${server.address().port}`, seen,
        close() { server.close(); server.closeAllConnections(); },
    };
}
