// The kernel's program for JavaScript and TypeScript, in Node.js: the protocol of kernel_program.cpp, for cells and questions about
// them. A worker reads the socket, so that an interrupt arrives while code runs; the code runs in the main thread.
(() => {
"use strict";
const { Worker, isMainThread } = require("worker_threads");
const [workspace, typescript_paths] = [process.argv[1], ["/usr/share/nodejs", "/usr/lib/node_modules", "/usr/local/lib/node_modules"]];
const fs = require("fs"), path = require("path"), util = require("util"), vm = require("vm"), module_of_node = require("module");
const { pathToFileURL } = require("url");
const acorn = require("internal/deps/acorn/acorn/dist/acorn");
const link = 3, most_told = 8 << 20, longest_text = 100000;

const reader = `
const fs = require("fs"), { parentPort, workerData: numbers } = require("worker_threads");
function exactly(size) {
    const bytes = Buffer.alloc(size);
    for (let at = 0; at < size;) {
        const got = fs.readSync(${link}, bytes, at, size - at);
        if (got === 0) process.kill(process.pid, "SIGKILL");
        at += got;
    }
    return bytes;
}
for (;;) {
    const message = JSON.parse(exactly(exactly(4).readUInt32BE()));
    if (message.op === "interrupt") {
        numbers[1] = numbers[0];
        process.kill(process.pid, "SIGINT");
    } else if (message.op !== "programs") {
        ++numbers[0];
        parentPort.postMessage(message);
    }
}`;

const numbers = new Int32Array(new SharedArrayBuffer(8));   // of the latest job that was read, and that an interrupt is for
const pause = new Int32Array(new SharedArrayBuffer(4));
function write_all(number, data) {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    for (let at = 0; at < bytes.length;) {
        try {
            at += fs.writeSync(number, bytes, at);
        } catch (problem) {
            if (problem.code !== "EAGAIN") throw problem;
            Atomics.wait(pause, 0, 0, 1);
        }
    }
}

// At once, so that it stands before what is told behind it.
for (const [number, stream] of [[1, process.stdout], [2, process.stderr]])
    stream.write = (chunk, encoding, then) => {
        write_all(number, typeof chunk === "string" ? Buffer.from(chunk, typeof encoding === "string" ? encoding : "utf8") : chunk);
        const done = typeof encoding === "function" ? encoding : then;
        if (done) process.nextTick(done);
        return true;
    };

function send(message) {
    const data = Buffer.from(JSON.stringify(message)), size = Buffer.alloc(4);
    size.writeUInt32BE(data.length);
    write_all(link, Buffer.concat([size, data]));
}

function mark(text) {
    for (const number of [1, 2]) write_all(number, text);
}

let job = null, job_number = 0;                 // that runs
function tell(event, content) {
    if (!job) return;
    mark(job.mark.slice(0, -1) + "\x1d");
    send({ id: job.id, event, content });
}

// Forms of values

const plain_text = (value) => util.inspect(value, { maxArrayLength: 1000, maxStringLength: longest_text }).slice(0, longest_text);

function own_json(value) {
    if (typeof value !== "object" || value === null || ![Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(value))) return undefined;
    try {
        const text = JSON.stringify(value);
        return text.length > most_told ? undefined : JSON.parse(text);
    } catch {
        return undefined;
    }
}

const own_display = Symbol.for("Jupyter.display");
function forms_of(value) {
    const data = { "text/plain": plain_text(value) };
    const json = job.notebook.data_forms ? own_json(value) : undefined;
    if (json !== undefined) data["application/json"] = json;
    if (value !== null && ["object", "function"].includes(typeof value) && typeof value[own_display] === "function") Object.assign(data, value[own_display]());
    if (JSON.stringify(data).length <= most_told) return data;
    return { "text/plain": data["text/plain"] };
}

function display(value, { raw = false } = {}) {
    if (job) tell("display_data", { data: raw ? { "text/plain": plain_text(value), ...value } : forms_of(value), metadata: {}, transient: {} });
}

// A cell as a program: its imports and declarations are of the kernel's global object, so that later cells see them and may make them
// anew; the value of its last expression is its result.

function names_of(pattern) {
    if (!pattern) return [];
    if (pattern.type === "Identifier") return [pattern.name];
    if (pattern.type === "ObjectPattern") return pattern.properties.flatMap((each) => names_of(each.value ?? each.argument));
    if (pattern.type === "ArrayPattern") return pattern.elements.flatMap(names_of);
    return names_of(pattern.type === "AssignmentPattern" ? pattern.left : pattern.argument);
}

function visit(node, enter) {
    if (Array.isArray(node)) return node.forEach((each) => visit(each, enter));
    if (!node || typeof node.type !== "string") return;
    enter(node);
    for (const [name, child] of Object.entries(node)) if (name !== "type" && typeof child === "object") visit(child, enter);
}

function parsed(code) {
    const options = { ecmaVersion: "latest", allowAwaitOutsideFunction: true, allowReturnOutsideFunction: false, allowHashBang: true };
    try {
        return acorn.parse(code, { ...options, sourceType: "module" });
    } catch (problem) {
        try {
            return acorn.parse(code, { ...options, sourceType: "script" });
        } catch {
            throw Object.assign(new SyntaxError(problem.message.replace(/ \(\d+:\d+\)$/, "")), { at: problem.loc });
        }
    }
}

function program_of(code) {
    let edits = [];
    const first = [], globals = new Set();
    const replace = (node, by) => edits.push([node.start, node.end, by]);
    function edited({ start, end }) {
        const within = edits.filter((each) => each[0] >= start && each[1] <= end).sort((one, other) => other[0] - one[0] || other[1] - one[1]);
        return within.reduce((text, [from, to, by]) => text.slice(0, from - start) + by + text.slice(to - start), code.slice(start, end));
    }
    const body = parsed(code).body;
    function declare(node) {
        if (node.type === "ImportDeclaration") return take_import(node);
        if (node.type.startsWith("Export")) return take_export(node);
        if (node.type === "FunctionDeclaration") {
            globals.add(node.id.name);
            first.push(`${node.id.name} = ${edited(node)};`);
            edits = edits.filter(([start, end]) => end <= node.start || start >= node.end);
            replace(node, ";");
        } else if (node.type === "ClassDeclaration") {
            globals.add(node.id.name);
            edits.push([node.start, node.start, `${node.id.name} = `], [node.end, node.end, ";"]);
        } else if (node.type === "VariableDeclaration") {
            take_variables(node);
        }
    }
    function take_variables(node) {
        const head = node.declarations[0].start, last = node.declarations.at(-1).end;
        edits.push([node.start, head, ";("], [last, node.end, ");"]);
        for (const each of node.declarations) {
            names_of(each.id).forEach((name) => globals.add(name));
            edits.push([each.start, each.start, "("], [each.end, each.end, each.init ? ")" : node.kind === "var" ? ")" : " = undefined)"]);
        }
    }
    function take_import(node) {
        const whole = node.specifiers.find((each) => each.type === "ImportNamespaceSpecifier");
        const named = node.specifiers.filter((each) => each !== whole);
        const from = `await __import(${node.source.raw})`;
        node.specifiers.forEach((each) => globals.add(each.local.name));
        const parts = named.map((each) => `${each.type === "ImportDefaultSpecifier" ? "default" : each.imported.name ?? each.imported.raw}: ${each.local.name}`);
        replace(node, `;${whole ? `${whole.local.name} = ${from};` : ""}${parts.length ? `({${parts.join(", ")}} = ${from});` : whole ? "" : `${from};`}`);
    }
    function take_export(node) {
        const of = node.declaration;
        if (!of) return replace(node, "");
        const is_named = of.id || of.declarations;
        edits.push([node.start, of.start, is_named ? "" : "("]);
        if (is_named) declare(of);
        else edits.push([of.end, node.end, ");"]);
    }
    visit(body, (node) => {
        if (node.type === "ImportExpression") edits.push([node.start, node.start + "import".length, "__import"]);
    });
    body.forEach(declare);
    const last = body.at(-1);
    if (last?.type === "ExpressionStatement") edits.push([last.start, last.start, ";return ("], [last.end - (code[last.end - 1] === ";"), last.end, "\n);"]);
    const rewritten = edited({ start: 0, end: code.length });
    return { source: `(async () => {${first.join("")}${rewritten}\n})()`, globals: [...globals] };
}

function without_types(code) {
    if (typeof module_of_node.stripTypeScriptTypes === "function") return module_of_node.stripTypeScriptTypes(code, { mode: "transform" });
    for (const folder of [process.cwd(), ...typescript_paths]) {
        try {
            const compiler = module_of_node.createRequire(folder + "/")(folder === process.cwd() ? "typescript" : folder + "/typescript");
            return compiler.transpileModule(code, { compilerOptions: { target: "ESNext", module: "ESNext", verbatimModuleSyntax: true } }).outputText;
        } catch (problem) {
            if (problem.code !== "MODULE_NOT_FOUND") throw problem;
        }
    }
    throw new Error(`TypeScript needs Node.js 22.13 or newer, or the package typescript (npm install typescript); this is Node.js ${process.version}.`);
}

function begin_globals() {
    globalThis.require = module_of_node.createRequire(path.join(process.cwd(), "cell.js"));
    globalThis.display = display;
    globalThis.__import = (name) => import(name.startsWith("node:") || module_of_node.builtinModules.includes(name) ? name
        : /^\.{0,2}\//.test(name) ? pathToFileURL(path.resolve(name)).href : /^[a-z]+:/.test(name) ? name : pathToFileURL(require.resolve(name)).href);
    process.exit = (code) => { throw new Leaving(code); };
    process.on("uncaughtException", (problem) => { if (!(problem instanceof Leaving)) process.stderr.write(util.inspect(problem) + "\n"); });
}

class Leaving {                                 // a cell that calls process.exit()
    constructor(code) { this.code = code; }
}

// Code that waits for something hears of an interrupt here; that which runs, by vm.
let hear_interrupt = () => {};
process.on("SIGINT", () => { if (numbers[1] === job_number) hear_interrupt(); });

async function run_code(code) {
    const { source, globals } = program_of(code);
    for (const name of globals) if (!(name in globalThis)) globalThis[name] = undefined;
    const interrupted = new Promise((_, fail) => { hear_interrupt = () => fail(Object.assign(new Error("Execution was interrupted"), { name: "Interrupted" })); });
    interrupted.catch(() => {});
    if (numbers[1] === job_number) hear_interrupt();
    const running = numbers[1] === job_number ? interrupted : vm.runInThisContext(source, { filename: `In[${count + 1}]`, breakOnSigint: true });
    running.catch(() => {});
    return Promise.race([running, interrupted]);
}

let count = 0, is_fresh = true;
function begin_in_place(options) {
    is_fresh = false;
    Object.assign(process.env, options.environment ?? {});
    const folder = path.resolve(workspace, options.path || ".");
    if (options.makes_path) fs.mkdirSync(folder, { recursive: true });
    process.chdir(fs.existsSync(folder) ? folder : workspace);
    begin_globals();
}

function error_of(problem) {
    const is_error = problem !== null && typeof problem === "object" && "message" in problem;
    const stack = is_error && typeof problem.stack === "string" ? problem.stack.split("\n").filter((line) => !/\[eval\]|node:(vm|internal)/.test(line)) : [plain_text(problem)];
    return { ename: String(is_error ? problem.name ?? "Error" : "Error"), evalue: String(is_error ? problem.message : plain_text(problem)).slice(0, 10000), traceback: stack.slice(0, 200) };
}

async function run_cell({ code, notebook }) {
    const counts = !notebook.silent && notebook.store_history !== false;
    const reply = { user_expressions: {} };
    let before = {};
    try {
        if (is_fresh) begin_in_place(notebook);
        before = Object.fromEntries(Object.keys(notebook.variables ?? {}).map((name) => [name, process.env[name]]));
        if (!notebook.silent) tell("execute_input", { code, execution_count: count + 1 });
        Object.assign(process.env, notebook.variables ?? {});
        const value = await run_code(notebook.typescript ? without_types(code) : code);
        if (counts) ++count;
        if (value !== undefined && !notebook.silent) tell("execute_result", { execution_count: count, data: forms_of(value), metadata: {} });
    } catch (problem) {
        if (counts) ++count;
        if (!(problem instanceof Leaving)) tell("error", reply.error = error_of(problem));
    } finally {
        for (const [name, value] of Object.entries(before)) value === undefined ? delete process.env[name] : (process.env[name] = value);
        hear_interrupt = () => {};
    }
    reply.execution_count = count;
    return { ok: !reply.error, exit: reply.error ? 1 : 0, state: reply };
}

// Questions about code

function completions({ code = "", cursor_pos = code.length }) {
    const points = [...code], before = points.slice(0, cursor_pos).join("");
    const [, owner = "", begin = ""] = /(?:([\w$.]+)\.)?([\w$]*)$/.exec(before) ?? [];
    let of = globalThis;
    try {
        for (const name of owner.split(".").filter(Boolean)) of = Reflect.get(Object(of), name);
    } catch {
        of = undefined;
    }
    const names = new Set();
    for (let at = of === undefined || of === null ? null : Object(of); at; at = Object.getPrototypeOf(at)) Object.getOwnPropertyNames(at).forEach((name) => names.add(name));
    const matches = [...names].filter((name) => name.startsWith(begin) && /^[A-Za-z_$][\w$]*$/.test(name)).sort().slice(0, 1000);
    return { status: "ok", matches, cursor_start: cursor_pos - [...begin].length, cursor_end: cursor_pos, metadata: {} };
}

function completeness({ code = "" }) {
    try {
        parsed(code);
        return { status: "complete" };
    } catch (problem) {
        const end = code.trimEnd().split("\n");
        const is_at_end = problem.at && (problem.at.line > end.length || (problem.at.line === end.length && problem.at.column >= end.at(-1).length));
        return is_at_end || /Unterminated (template|comment)/.test(problem.message) ? { status: "incomplete", indent: "" } : { status: "invalid" };
    }
}

const questions = {
    complete_request: completions,
    is_complete_request: completeness,
    inspect_request: () => ({ status: "ok", found: false, data: {}, metadata: {} }),
    history_request: () => ({ status: "ok", history: [] }),
    kernel_info_request: () => ({
        status: "ok", protocol_version: "5.3", implementation: "container-mcp", implementation_version: process.versions.node, help_links: [],
        banner: `Node.js ${process.version} in a sandbox of Container-MCP`, debugger: false, supported_features: [],
        language_info: { name: "javascript", version: process.versions.node, mimetype: "text/javascript", file_extension: ".js", pygments_lexer: "javascript", codemirror_mode: "javascript" },
    }),
};

function look({ question, content }) {
    const answer = questions[question];
    return answer ? { ok: true, exit: 0, state: answer(content ?? {}) } : { ok: false, exit: 1, reason: `A JavaScript kernel does not answer ${question}.` };
}

async function serve(message) {
    job = message;
    ++job_number;
    const began = process.cpuUsage();
    let answer = { ok: false, exit: 1, reason: "A JavaScript kernel's variables are neither kept nor copied." };
    try {
        if (message.op === "run") answer = await run_cell({ notebook: {}, ...message });
        if (message.op === "look") answer = look(message);
    } catch (problem) {
        answer = { ok: false, exit: 1, reason: String(problem?.message ?? problem).slice(0, 300) };
    }
    const { user, system } = process.cpuUsage(began);
    mark(message.mark);
    job = null;
    send({ ...answer, id: message.id, cpu_us: user + system, peak_bytes: process.resourceUsage().maxRSS * 1024 });
}

let turn = Promise.resolve();
new Worker(reader, { eval: true, workerData: numbers }).on("message", (message) => { turn = turn.then(() => serve(message)); });
})();
