// JupyterLab's own client library against /api: kernels, sessions and files of sandboxes. VS Code's Jupyter extension uses the same library.
import {
    ContentsManager, Drive, KernelManager, KernelSpecManager, ServerConnection, SessionManager,
} from "@jupyterlab/services";
import assert from "node:assert/strict";
import { test, until } from "../lib/report.mjs";
import { start_server } from "../lib/server.mjs";

const TOKENS = { ann: "a".repeat(32), bob: "b".repeat(32) };
const server = await start_server({ settings: { MCP_AUTH_TOKENS: Object.entries(TOKENS).map(([name, token]) => `${name}=${token}`).join(",") } });

const connect = (token) => ServerConnection.makeSettings({ baseUrl: `${server.url}/`, wsUrl: `${server.url.replace("http", "ws")}/`, token, appendToken: true });
const settings = connect(TOKENS.ann);

/// Runs a cell; what it showed, and its reply.
async function run(kernel, code, options = {}) {
    const shown = [];
    const future = kernel.requestExecute({ code, ...options });
    future.onIOPub = ({ header, content }) => shown.push({ type: header.msg_type, ...content });
    const reply = await future.done;
    return { shown: shown.filter(({ type }) => !["status", "execute_input"].includes(type)), reply: reply.content };
}

const text = (shown, name) => shown.filter((each) => each.name === name).map((each) => each.text).join("");

const kernels = new KernelManager({ serverSettings: settings });
const specs = new KernelSpecManager({ serverSettings: settings });
let kernel;

await test("jupyter: kernelspecs are listed", async () => {
    await specs.ready;
    assert.equal(specs.specs.default, "python3");
    assert.deepEqual(Object.keys(specs.specs.kernelspecs).sort(), ["javascript", "python3", "sandbox"]);
});

await test("jupyter: a kernel starts and tells about itself over binary messages", async () => {
    await kernels.ready;
    kernel = await kernels.startNew({ name: "python3" });
    const info = await kernel.info;
    assert.equal(info.language_info.name, "python");
    assert.equal(kernel.connectionStatus, "connected");
    assert.equal((await kernel.requestKernelInfo()).content.protocol_version, "5.3");
});

await test("jupyter: a cell streams, shows and gives its value in their order", async () => {
    const { shown, reply } = await run(kernel, "import sys\nprint('one')\nprint('two', file=sys.stderr)\ndisplay({'a': 1})\nprint('three')\n6 * 7");
    assert.deepEqual(shown.map(({ type, name }) => name ?? type), ["stdout", "stderr", "display_data", "stdout", "execute_result"]);
    assert.equal(shown.at(-1).data["text/plain"], "42");
    assert.deepEqual([reply.status, reply.execution_count], ["ok", 1]);
});

await test("jupyter: output comes while the cell runs", async () => {
    const heard = [];
    const future = kernel.requestExecute({ code: "import os, time\nprint('first', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('second')" });
    future.onIOPub = ({ header, content }) => header.msg_type === "stream" && heard.push(content.text);
    await until("the first line comes", () => heard.join("") === "first\n");
    const folder = (await new ContentsManager({ serverSettings: settings }).get("sandboxes")).content[0].path;
    await new ContentsManager({ serverSettings: settings }).save(`${folder}/go`, { type: "file", format: "text", content: "" });
    await future.done;
    assert.equal(heard.join(""), "first\nsecond\n");
});

await test("jupyter: a picture comes with its bytes, and a display is updated", async () => {
    const { shown } = await run(kernel, "class P:\n    def _repr_png_(self): return b'\\x89PNG' + bytes(1 << 20)\ndisplay(P())\nh = display('old', display_id='d')\nh.update('new')");
    assert.equal(Buffer.from(shown[0].data["image/png"], "base64").length, (1 << 20) + 4);
    assert.deepEqual(shown.slice(1).map(({ type, data, transient }) => [type, data["text/plain"], transient.display_id]), [["display_data", "'old'", "d"], ["update_display_data", "'new'", "d"]]);
});

await test("jupyter: an error has name, value and traceback, and what waits behind it is aborted", async () => {
    const failing = kernel.requestExecute({ code: "def f(): return 1 / 0\nf()", stop_on_error: true });
    const behind = Array.from({ length: 30 }, () => kernel.requestExecute({ code: "never = 1" }));
    const error = (await failing.done).content;
    assert.equal(error.ename, "ZeroDivisionError");
    assert.match(error.traceback.join("\n"), /line 1, in f/);
    for (const each of behind) assert.equal((await each.done).content.status, "aborted");
    assert.equal((await run(kernel, "never")).reply.ename, "NameError");
});

await test("jupyter: user expressions are evaluated, and silent cells do not count", async () => {
    const before = (await run(kernel, "x = 20")).reply.execution_count;
    const { reply } = await run(kernel, "x += 1", { silent: true, user_expressions: { twice: "2 * x" } });
    assert.equal(reply.user_expressions.twice.data["text/plain"], "42");
    assert.equal((await run(kernel, "x")).reply.execution_count, before + 1);
});

await test("jupyter: names are completed and explained, code is complete or not, history is found", async () => {
    await run(kernel, "import math");
    const completed = (await kernel.requestComplete({ code: "math.fact", cursor_pos: 9 })).content;
    assert.deepEqual([completed.matches, completed.cursor_start, completed.cursor_end], [["math.factorial"], 0, 9]);
    const explained = (await kernel.requestInspect({ code: "math.factorial(", cursor_pos: 15, detail_level: 0 })).content;
    assert.match(explained.data["text/plain"], /factorial/);
    assert.equal((await kernel.requestIsComplete({ code: "for i in x:" })).content.status, "incomplete");
    const { history } = (await kernel.requestHistory({ hist_access_type: "tail", n: 1, output: false, raw: true })).content;
    assert.deepEqual(history.map((row) => row[2]), ["import math"]);
    assert.deepEqual((await kernel.requestCommInfo({})).content.comms, {});
});

await test("jupyter: an interrupt ends a loop and keeps variables", async () => {
    const future = kernel.requestExecute({ code: "kept = 5\nprint('in', flush=True)\nwhile True: pass" });
    const begun = new Promise((heard) => { future.onIOPub = ({ header }) => header.msg_type === "stream" && heard(); });
    await begun;
    await kernel.interrupt();
    assert.equal((await future.done).content.ename, "KeyboardInterrupt");
    assert.equal((await run(kernel, "kept")).shown[0].data["text/plain"], "5");
});

await test("jupyter: a second connection to the kernel sees what the first one's cells show", async () => {
    const other = kernels.connectTo({ model: kernel.model });
    await other.info;
    const heard = [];
    other.anyMessage.connect((_, { msg }) => msg.header.msg_type === "stream" && heard.push(msg.content.text));
    await run(kernel, "print('for both')");
    await until("the other one hears it", () => heard.join("") === "for both\n");
    other.dispose();
    assert.equal((await run(kernel, "kept")).reply.status, "ok");
});

await test("jupyter: a restart forgets variables", async () => {
    await kernel.restart();
    await kernel.info;
    const { reply } = await run(kernel, "kept");
    assert.deepEqual([reply.ename, reply.execution_count], ["NameError", 1]);
});

await test("jupyter: a kernel that ends by itself says so and starts anew", async () => {
    const states = [];
    kernel.statusChanged.connect((_, status) => states.push(status));
    const { reply } = await run(kernel, "import os\nos._exit(3)").catch((gone) => ({ reply: { status: gone.message } }));
    assert.notEqual(reply.status, "ok");
    await until("the client is told", () => states.includes("autorestarting"));
    assert.equal((await run(kernel, "1 + 1")).shown.at(-1).data["text/plain"], "2");
});

await test("jupyter: a kernel without a file goes with its sandbox", async () => {
    const lone = await kernels.startNew({ name: "python3" });
    await lone.info;
    const listed = async () => (await new ContentsManager({ serverSettings: settings }).get("sandboxes")).content.length;
    const before = await listed();
    await lone.shutdown();
    await until("its sandbox is gone", async () => (await listed()) === before - 1);
});

const contents = new ContentsManager({ serverSettings: settings, defaultDrive: new Drive({ serverSettings: settings }) });
const notebook = { cells: [{ cell_type: "code", id: "a", source: "1 + 1", metadata: { number: 1.0 }, outputs: [], execution_count: null }], metadata: {}, nbformat: 4, nbformat_minor: 5 };

await test("jupyter: files are made, saved, read, renamed and removed", async () => {
    const fresh = await contents.newUntitled({ path: "", type: "notebook" });
    assert.equal(fresh.path, "Untitled.ipynb");
    assert.equal((await contents.newUntitled({ path: "", type: "notebook" })).path, "Untitled1.ipynb");
    await contents.save(fresh.path, { type: "notebook", format: "json", content: notebook });
    assert.deepEqual((await contents.get(fresh.path)).content, notebook);
    const folder = await contents.newUntitled({ path: "", type: "directory" });
    await contents.rename(folder.path, "data");
    await contents.save("data/bytes.bin", { type: "file", format: "base64", content: Buffer.from([0, 255, 1]).toString("base64") });
    assert.equal((await contents.get("data/bytes.bin")).content, "AP8B");
    await contents.copy("data/bytes.bin", "data");
    assert.deepEqual((await contents.get("data")).content.map(({ name }) => name).sort(), ["bytes-Copy1.bin", "bytes.bin"]);
    await contents.delete("Untitled1.ipynb");
    await contents.delete("data");
    assert.deepEqual((await contents.get("")).content.map(({ name }) => name).sort(), ["Untitled.ipynb", "sandboxes"]);
    await assert.rejects(contents.get("data/bytes.bin"), /no file or folder/);
});

await test("jupyter: what tools write is in the root, and what is saved there is for the tools", async () => {
    const tool = async (name, values) => (await fetch(`${server.url}/mcp/tools/${name}`, { method: "POST", headers: { "Content-Type": "application/json", Authorization: `Bearer ${TOKENS.ann}` }, body: JSON.stringify(values) })).json();
    await tool("system_run_command", { command: "echo by a tool > from-tools.txt" });
    assert.equal((await contents.get("from-tools.txt")).content, "by a tool\n");
    await contents.save("from-jupyter.txt", { type: "file", format: "text", content: "saved" });
    assert.equal((await tool("file_read", { path: "from-jupyter.txt" })).content, "saved");
    for (const name of ["from-tools.txt", "from-jupyter.txt"]) await contents.delete(name);
});

await test("jupyter: a checkpoint is kept and restored", async () => {
    await contents.save("note.txt", { type: "file", format: "text", content: "old" });
    const { id } = await contents.createCheckpoint("note.txt");
    await contents.save("note.txt", { type: "file", format: "text", content: "new" });
    assert.equal((await contents.listCheckpoints("note.txt")).length, 1);
    await contents.restoreCheckpoint("note.txt", id);
    assert.equal((await contents.get("note.txt")).content, "old");
    await contents.deleteCheckpoint("note.txt", id);
    assert.deepEqual(await contents.listCheckpoints("note.txt"), []);
});

await test("jupyter: sessions of two notebooks in a folder have kernels of their own and see its files", async () => {
    const sessions = new SessionManager({ serverSettings: settings, kernelManager: kernels });
    await sessions.ready;
    await contents.save("work", { type: "directory" });
    await contents.save("work/beside.txt", { type: "file", format: "text", content: "read me" });
    const begin = (name) => sessions.startNew({ path: `work/${name}.ipynb`, name, type: "notebook", kernel: { name: "python3" } });
    const [one, two] = [await begin("one"), await begin("two")];
    assert.notEqual(one.kernel.id, two.kernel.id);
    assert.equal((await run(one.kernel, "mine = 1\nopen('beside.txt').read()")).shown[0].data["text/plain"], "'read me'");
    assert.equal((await run(two.kernel, "mine")).reply.ename, "NameError");
    await run(one.kernel, "open('made.txt', 'w').write('by code');");
    assert.equal((await contents.get("work/made.txt")).content, "by code");
    await one.setPath("work/renamed.ipynb");
    await sessions.refreshRunning();
    assert.deepEqual([...sessions.running()].map(({ path }) => path).sort(), ["work/renamed.ipynb", "work/two.ipynb"]);
    await one.changeKernel({ name: "sandbox" });
    assert.equal((await run(one.kernel, "'of the sandbox'")).reply.status, "ok");
    await two.shutdown();
    await sessions.refreshRunning();
    assert.equal([...sessions.running()].length, 1);
    await one.shutdown();
    sessions.dispose();
});

await test("jupyter: another caller sees neither kernels nor files", async () => {
    const bobs = connect(TOKENS.bob);
    const theirs = new KernelManager({ serverSettings: bobs });
    await theirs.ready;
    assert.deepEqual([...theirs.running()], []);
    await assert.rejects(ServerConnection.makeRequest(`${server.url}/api/kernels/${kernel.id}`, {}, bobs).then((reply) => { if (!reply.ok) throw new Error(reply.status); }), /404/);
    assert.deepEqual((await new ContentsManager({ serverSettings: bobs }).get("")).content.map(({ name }) => name), ["sandboxes"]);
    theirs.dispose();
});

await test("jupyter: an unknown token is refused", async () => {
    assert.equal((await ServerConnection.makeRequest(`${server.url}/api/kernels`, {}, connect("wrong"))).status, 401);
    await assert.rejects(new ContentsManager({ serverSettings: connect("wrong") }).get(""), /token/);
});

await test("jupyter: kernels are shut down", async () => {
    await kernels.shutdownAll();
    await kernels.refreshRunning();
    assert.deepEqual([...kernels.running()], []);
});

kernels.dispose();
specs.dispose();
await test("jupyter: the server stops and leaves nothing", () => server.stop());
process.exit();
