// The list that every client goes through: all nine tools and the rest of the protocol, checked against the contract.
import assert from "node:assert/strict";
import { SECRET } from "./server.mjs";
import { test } from "./report.mjs";
import { good, published_schemas, refused, TOOLS } from "./shapes.mjs";

const recent = (seconds) => Math.abs(Date.now() / 1000 - seconds) < 600;

const TOOL_TESTS = {
    async file_write(call) {
        const value = good("file_write", await call("file_write", { path: "notes/hello.txt", content: "hällo\n" }));
        assert.deepEqual([value.success, value.path], [true, "notes/hello.txt"]);
    },
    async file_read(call) {
        const text = good("file_read", await call("file_read", { path: "notes/hello.txt" }));
        assert.deepEqual([text.content, text.size, text.success], ["hällo\n", 7, true]);
        assert(recent(text.modified), `modified: ${text.modified}`);
        const bytes = good("file_read", await call("file_read", { path: "notes/hello.txt", encoding: "base64" }));
        assert.equal(Buffer.from(bytes.content, "base64").toString(), "hällo\n");
        refused(await call("file_read", { path: "notes/none.txt" }), /notes\/none\.txt/);
        refused(await call("file_read", { path: "../outside.txt" }), /path|outside|root/i);
    },
    async file_list(call) {
        const root = good("file_list", await call("file_list", {}));
        assert.deepEqual([root.path, root.success], ["/", true]);
        const folder = root.entries.find((entry) => entry.name === "notes");
        assert(folder?.is_directory && folder.path === "notes", `no folder 'notes' in ${JSON.stringify(root.entries)}`);
        const inner = good("file_list", await call("file_list", { path: "notes", pattern: "*.txt" }));
        assert.deepEqual(inner.entries.map((entry) => [entry.name, entry.path, entry.size]), [["hello.txt", "notes/hello.txt", 7]]);
        const all = good("file_list", await call("file_list", { recursive: true }));
        assert(all.entries.some((entry) => entry.path === "notes/hello.txt"), "recursive does not reach notes/hello.txt");
    },
    async file_move(call) {
        const value = good("file_move", await call("file_move", { source: "notes/hello.txt", destination: "notes/moved.txt" }));
        assert.deepEqual([value.success, value.source, value.destination], [true, "notes/hello.txt", "notes/moved.txt"]);
        refused(await call("file_move", { source: "notes/moved.txt", destination: "notes/moved.exe" }), /FILE_ALLOWED_EXTENSIONS|extension/);
    },
    async system_run_command(call) {
        const value = good("system_run_command", await call("system_run_command", { command: "cat notes/moved.txt" }));
        assert.deepEqual([value.stdout, value.stderr, value.exit_code, value.success, value.cause], ["hällo\n", "", 0, true, "exited"]);
        const there = good("system_run_command", await call("system_run_command", { command: "cat moved.txt", working_dir: "notes" }));
        assert.equal(there.stdout, "hällo\n");
        const failing = good("system_run_command", await call("system_run_command", { command: "echo oops >&2; exit 3" }));
        assert.deepEqual([failing.stderr, failing.exit_code, failing.success], ["oops\n", 3, false]);
        const unknown = good("system_run_command", await call("system_run_command", { command: "id" }));
        assert.equal(unknown.exit_code, 127);
        assert.match(unknown.stderr, /BASH_ALLOWED_COMMANDS/);
    },
    async system_run_python(call) {
        const value = good("system_run_python", await call("system_run_python", { code: "print('Hello, world!')\nresult = 42\n_ = result" }));
        assert.deepEqual([value.output, value.error, value.result, value.success], ["Hello, world!\n", "", 42, true]);
        const file = good("system_run_python", await call("system_run_python", { code: "_ = open('notes/moved.txt').read()" }));
        assert.equal(file.result, "hällo\n");
        const raised = good("system_run_python", await call("system_run_python", { code: "print('before')\nboom = 1 / 0\n" }));
        assert.deepEqual([raised.output, raised.success], ["before\n", false]);
        assert.match(raised.error, /boom = 1 \/ 0[\s\S]*ZeroDivisionError/);
    },
    async system_env_var(call, context) {
        const all = good("system_env_var", await call("system_env_var", {}));
        assert(Object.values(all.variables).every((value) => typeof value === "string"), "a variable is no string");
        const one = good("system_env_var", await call("system_env_var", { var_name: "BASH_TIMEOUT_MAX" }));
        assert.equal(one.requested_var, context.settings.BASH_TIMEOUT_MAX);
        assert(!JSON.stringify([all, one]).includes(SECRET), "the server's own environment is shown");
    },
    async system_info(call) {
        const value = good("system_info", await call("system_info", {}));
        assert(Object.keys(value).some((key) => key.startsWith("version")), `no version among ${Object.keys(value)}`);
        assert.match(JSON.stringify(value.layers), /seccomp/);
    },
    async file_delete(call) {
        const value = good("file_delete", await call("file_delete", { path: "notes/moved.txt" }));
        assert.deepEqual([value.success, value.path], [true, "notes/moved.txt"]);
        refused(await call("file_delete", { path: "notes/moved.txt" }), /notes\/moved\.txt/);
    },
};

async function timeout_keeps_output(call) {
    const value = refused(await call("system_run_python", { code: "print('begin', flush=True)\nwhile True: pass", timeout: 1 }), /time/i);
    assert.deepEqual([value.output, value.cause], ["begin\n", "timeout"]);
}

async function long_output_is_readable(call, client) {
    const command = "for ((i = 0; i < 20000; i++)); do echo line $i; done";
    const value = good("system_run_command", await call("system_run_command", { command, max_output: 2000 }));
    assert.deepEqual([value.stdout_truncated, value.stderr_truncated, value.success], [true, false, true]);
    assert(value.stdout.startsWith("line 0\n") && value.stdout.endsWith("line 19999\n"), "head and tail are not both kept");
    assert(value.stdout.length < 4000, `${value.stdout.length} characters of 2000`);
    const [content] = await client.read(value.output_uri);
    assert.equal(content.uri, value.output_uri);
    assert.match(content.text ?? "", /^line 0\nline 1\n/);
    await assert.rejects(client.read(value.output_uri + "none"), "a resource that is not there was read");
}

async function completion(client) {
    if (!client.capabilities().completions) return assert.rejects(client.complete({ ref: { type: "ref/prompt", name: "x" }, argument: { name: "y", value: "" } }));
    const [template] = await client.templates();
    const [prompt] = client.capabilities().prompts ? await client.prompts() : [];
    const variable = template?.uriTemplate.match(/\{[+#/?&]?(\w+)/)?.[1];
    const ref = variable ? { type: "ref/resource", uri: template.uriTemplate } : prompt && { type: "ref/prompt", name: prompt.name };
    assert(ref, "no resource template and no prompt to complete");
    const argument = { name: variable ?? prompt.arguments?.[0]?.name, value: "" };
    assert(Array.isArray((await client.complete({ ref, argument })).completion.values), "no values");
}

/// Each test is reported as "PREFIX: NAME".
export async function go_through(prefix, kind, context) {
    let client;
    if (!await test(`${prefix}: connects`, async () => { client = await kind.connect(context); })) return;
    try {
        await go_through_connected(prefix, client, context);
    } finally {
        await test(`${prefix}: closes`, () => client.close());
    }
}

async function go_through_connected(prefix, client, context) {
    let schemas;
    const call = async (name, args) => schemas.check(name, await client.call(name, args));
    await test(`${prefix}: lists the tools with output schemas, each time in the same order`, async () => {
        const tools = await client.tools();
        schemas = new published_schemas(tools);
        const names = tools.map((tool) => tool.name);
        assert.deepEqual(TOOLS.filter((name) => !names.includes(name)), [], "tools are missing");
        assert.deepEqual((await client.tools()).map((tool) => tool.name), names);
        assert.equal(client.server().name, "container-mcp");
    });
    for (const [name, body] of Object.entries(TOOL_TESTS)) {
        await test(`${prefix}: ${name}`, () => body(call, context));
    }
    await test(`${prefix}: a timeout keeps what was printed`, () => timeout_keeps_output(call));
    await test(`${prefix}: long output is cut and readable as a resource`, () => long_output_is_readable(call, client));
    await test(`${prefix}: lists resources`, async () => assert(Array.isArray(await client.resources())));
    await test(`${prefix}: completion, or an error where none is declared`, () => completion(client));
    await test(`${prefix}: an error names the missing argument`, async () => {
        const said = await client.call("system_run_command", {}).catch((error) => ({ text: error.message }));
        assert.match(JSON.stringify(said), /command/);
    });
    await test(`${prefix}: an unknown tool is a protocol error`, () => assert.rejects(client.call("no_such_tool", {}), /no_such_tool/));
    if (!client.ping) return;
    await test(`${prefix}: ping`, async () => assert.deepEqual(await client.ping(), {}));
    await test(`${prefix}: logging level`, async () => assert.deepEqual(await client.log_level("debug"), {}));
}
