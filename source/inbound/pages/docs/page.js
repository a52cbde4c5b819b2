// The page at /docs: every operation of /openapi.json, with a form to try it and code to copy.

import { button, byId, copy, element, query, say } from "../ui/elements.js";
import { languages, tokenVariable } from "./code.js";

const main = byId("main"), token = byId("token");
const toolPath = "/mcp/tools/";
const base = location.href.replace(/\/docs\/?([?#].*)?$/, "");
const page = { operations: [], session: null, sandboxes: [], language: "curl", error: {} };
let running = null;

// ---------------------------------------------------------------- requests
const proof = () => page.session && page.session.csrf && !token.value ? { "X-CSRF-Token": page.session.csrf } : {};
const credentials = () => token.value ? { Authorization: `Bearer ${token.value}` } : proof();
const needsToken = () => !page.session || page.session.named;

async function send(call, signal) {
  const headers = { ...credentials(), Accept: call.tool ? "text/event-stream" : "application/json" };
  if (call.body !== undefined) headers["Content-Type"] = "application/json";
  return fetch(call.url, { method: call.method, signal, headers, body: call.body === undefined ? undefined : JSON.stringify(call.body) });
}

function print(output, kind, text) {
  output.append(element("span", { class: kind }, text));
  output.scrollTop = output.scrollHeight;
}

// Events of a call that runs; the last one is its result.
async function follow(answer, output) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", result = null;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return result;
    rest += value;
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const lines = rest.slice(0, end).split("\n");
      rest = rest.slice(end + 2);
      const kind = (lines.find((line) => line.startsWith("event:")) || "").slice(6).trim();
      const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart()).join("\n");
      if (kind === "stdout" || kind === "stderr") print(output, kind, JSON.parse(data).text);
      if (kind === "log") print(output, kind, `${JSON.parse(data).data}\n`);
      if (kind === "result") result = JSON.parse(data);
    }
  }
}

// ---------------------------------------------------------------- forms
const isLong = (name, schema) => ["code", "command", "content"].includes(name) || schema.type === "object" || schema.type === "array";

function inputFor(name, schema, id, changed) {
  if (schema.enum || schema.type === "boolean") {
    const options = ["", ...(schema.enum || ["true", "false"])].map((each) => element("option", { value: String(each) }, String(each)));
    return element("select", { id, onchange: changed }, options);
  }
  if (isLong(name, schema)) return element("textarea", { id, spellcheck: false, class: "text", oninput: changed });
  const input = element("input", { id, class: "text", spellcheck: false, autocomplete: "off", oninput: changed, placeholder: schema.default === undefined ? null : String(schema.default) });
  if (name === "sandbox_id") input.setAttribute("list", "sandboxes");
  return input;
}

/// `text` becomes the value that the schema means. Throws SyntaxError.
function valueOf(text, schema) {
  if (schema.type === "integer" || schema.type === "number") return Number.isNaN(Number(text)) ? text : Number(text);
  if (schema.type === "boolean") return text === "true";
  if (schema.type === "array" && !text.trim().startsWith("[")) return text.split(/[\n,]/).map((each) => each.trim()).filter(Boolean);
  if (schema.type === "array" || schema.type === "object") return JSON.parse(text);
  return text;
}

function fieldOf(name, schema, { required, example, changed }) {
  const id = `arg-${name}`;
  const input = inputFor(name, schema, id, changed);
  if (example !== undefined) input.value = typeof example === "string" ? example : JSON.stringify(example);
  if (required) input.required = true;
  const about = element("div", { class: "dim", id: `${id}-about` }, schema.description || "");
  input.setAttribute("aria-describedby", about.id);
  const node = element("div", { class: "field" }, element("label", { for: id }, `${name} `, element("small", {}, [required ? "required" : "optional", schema.type].filter(Boolean).join(", "))), about, input);
  return { name, node, required, read: () => input.value === "" ? undefined : valueOf(input.value, schema) };
}

// What an id is called while there is none.
const exampleOf = (name, examples) => name === "sandbox_id" ? page.sandboxes[0] : examples[name] === "…" ? undefined : examples[name];

function fieldsOf(operation, changed) {
  const parameters = (operation.parameters || []).map((each) => ({ ...fieldOf(each.name, { description: each.description, ...each.schema }, { required: each.required, example: exampleOf(each.name, {}), changed }), place: each.in }));
  const content = ((operation.requestBody || {}).content || {})["application/json"];
  if (!content) return parameters;
  const required = content.schema.required || [];
  return [...parameters, ...Object.entries(content.schema.properties || {}).map(([name, schema]) =>
    ({ ...fieldOf(name, schema, { required: required.includes(name), example: exampleOf(name, content.example || {}), changed }), place: "body" }))];
}

/// The call that the form means. Throws SyntaxError.
function callOf(operation, fields) {
  const call = { method: operation.method.toUpperCase(), tool: operation.path.startsWith(toolPath), token: needsToken(), streams: operation.streams };
  let path = operation.path, body;
  const parameters = {};
  for (const field of fields) {
    const value = field.read() ?? (field.required ? field.name.toUpperCase() : undefined);
    if (value === undefined) continue;
    if (field.place === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(value));
    else if (field.place === "query") parameters[field.name] = value;
    else body = { ...body, [field.name]: value };
  }
  call.url = base + path + (Object.keys(parameters).length ? `?${query(parameters)}` : "");
  const takes = (operation.requestBody || {}).content || {};
  if (takes["application/json"]) call.body = body || {};
  else if (takes["application/octet-stream"]) call.file = "file";
  return call;
}

// ---------------------------------------------------------------- one operation
function codeOf(operation, fields) {
  const shown = element("pre", { class: "code", tabIndex: 0, role: "region", "aria-label": "The call as code" });
  const update = () => {
    try { shown.textContent = languages[page.language](callOf(operation, fields)); } catch (problem) { shown.textContent = `An argument is not valid JSON: ${problem.message}`; }
  };
  const choices = Object.keys(languages).map((name) => button(name, () => {
    page.language = name;
    for (const each of choices) each.setAttribute("aria-pressed", String(each.textContent === name));
    update();
  }, { "aria-pressed": String(name === page.language) }));
  const taking = button("Copy", async () => { await copy(shown.textContent); }, { class: "main", "aria-label": "Copy the code" });
  const hint = needsToken() ? element("p", { class: "dim" }, `The variable ${tokenVariable} holds your token.`) : null;
  update();
  return { node: [element("h3", {}, "As code"), element("div", { class: "tools" }, choices, taking), hint, shown], update };
}

function showResult(place, object, status) {
  const images = (object && object.images) || [];
  const short = images.length ? { ...object, images: images.map((image) => ({ ...image, data: `${image.data.slice(0, 40)}…` })) } : object;
  const refused = status >= 400 || (object && object.error && object.error_type);
  place.replaceChildren(element("h3", {}, refused ? "Refused" : "Result"), element("pre", { id: "result", class: refused ? "bad" : "", tabIndex: 0, role: "region", "aria-label": "Result" }, JSON.stringify(short, null, 2)),
    ...images.map((image) => element("img", { src: `data:${image.mimeType};base64,${image.data}`, alt: "An image of the result" })));
  say(refused ? "Refused" : "Done");
}

function trial(operation, fields) {
  const output = element("pre", { id: "output", tabIndex: 0, role: "region", "aria-label": "Output", hidden: true });
  const title = element("h3", { hidden: true }, "Output, as it comes");
  const result = element("div");
  const run = element("button", { class: "main", id: "run" }, "Run"), stop = button("Stop", () => running && running.abort(), { disabled: true });
  const act = async (event) => {
    event.preventDefault();
    let call;
    try { call = callOf(operation, fields); } catch (problem) { showResult(result, { error: `An argument is not valid JSON: ${problem.message}` }, 400); return; }
    output.textContent = "";
    [output.hidden, title.hidden] = [!call.tool, !call.tool];
    result.replaceChildren(element("p", { class: "dim" }, "Running…"));
    [run.disabled, stop.disabled] = [true, false];
    running = new AbortController();
    try {
      const answer = await send(call, running.signal);
      const events = (answer.headers.get("content-type") || "").startsWith("text/event-stream");
      showResult(result, events ? await follow(answer, output) : await answer.json(), answer.status);
    } catch (problem) { result.replaceChildren(element("p", { class: problem.name === "AbortError" ? "dim" : "bad" }, problem.name === "AbortError" ? "Stopped" : "The server does not answer.")); }
    [running, run.disabled, stop.disabled] = [null, false, true];
  };
  const can = !operation.streams && !operation.file && operation.id !== "open_shell";
  const form = element("form", { onsubmit: act, novalidate: true }, fields.map((field) => field.node), can ? element("div", { class: "tools" }, run, stop) : null);
  return { form, after: [title, output, result] };
}

function schemas(operation) {
  const takes = ((operation.requestBody || {}).content || {})["application/json"];
  const gives = ((operation.responses || {})["200"] || {}).content || {};
  const part = (title, schema) => schema ? [element("h3", {}, title), element("pre", { tabIndex: 0, role: "region", "aria-label": title }, JSON.stringify(schema, null, 2))] : [];
  return element("details", { class: "more" }, element("summary", {}, "Schemas"), part("Arguments", takes && takes.schema), part("Result", (gives["application/json"] || {}).schema));
}

function showOperation(operation) {
  let code;
  const fields = fieldsOf(operation, () => code.update());
  code = codeOf(operation, fields);
  const { form, after } = trial(operation, fields);
  const websocket = operation.id === "open_shell";
  document.title = `${operation.id} · Container-MCP`;
  main.replaceChildren(element("h2", { class: "name" }, operation.id), element("p", {}, operation.summary), operation.description ? element("p", {}, operation.description) : "",
    element("p", {}, element("code", {}, `${operation.method.toUpperCase()} ${operation.path}`)), form, ...after, ...(websocket ? [] : code.node.filter(Boolean)), schemas(operation));
}

// ---------------------------------------------------------------- the beginning
function showErrors() {
  const type = ((page.error.properties || {}).error_type) || {};
  const rows = (type.description || "").split("\n").map((line) => /^(\w+) \(([^)]*)\): (.*)$/.exec(line)).filter(Boolean);
  if (!rows.length) return [];
  return [element("h2", {}, "Refusals"), element("p", {}, "Every refusal of REST is one object: a sentence that says what to do, a word for programs, and the name of the request in the server's log."),
    element("pre", {}, `{"error": "argument \`path\` is missing; for example: {\\"path\\":\\"notes/a.txt\\"}", "error_type": "InvalidArgument", "request_id": "r-1"}`),
    element("table", {}, element("thead", {}, element("tr", {}, ["error_type", "Status", "When"].map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, rows.map(([, name, status, when]) => element("tr", {}, element("td", {}, element("code", {}, name)), element("td", {}, status), element("td", {}, when)))))];
}

function showBeginning(problem) {
  document.title = "Container-MCP: tools";
  const code = (text) => element("code", {}, text);
  main.replaceChildren(element("h2", {}, "REST"), problem ? element("p", { class: "bad", role: "alert", id: "problem" }, problem) : "",
    element("p", {}, "Every MCP tool is a call ", code("POST /mcp/tools/<name>"), " with its arguments as a JSON object; the answer is the result object. With ", code("Accept: text/event-stream"),
      " the output comes while the tool runs, as events ", code("stdout"), " and ", code("stderr"), ", what the server says of it as ", code("log"), ", at last ", code("result"), ". The same in machine-readable form: ",
      element("a", { href: "openapi.json" }, "openapi.json"), ". Choose a tool to see it, try it, and copy it as code."), ...showErrors());
}

function showList() {
  const wanted = byId("find").value.trim().toLowerCase();
  const groups = new Map();
  for (const operation of page.operations) {
    if (wanted && !`${operation.id} ${operation.summary} ${operation.path}`.toLowerCase().includes(wanted)) continue;
    groups.set(operation.group, [...(groups.get(operation.group) || []), operation]);
  }
  const current = decodeURIComponent(location.hash.slice(1));
  byId("list").replaceChildren(...[...groups].flatMap(([group, operations]) => [element("h2", {}, group),
    ...operations.map(({ id }) => element("a", { href: `#${id}`, "aria-current": id === current ? "page" : null }, id))]));
}

function showPlace(problem) {
  if (running) running.abort();
  const operation = page.operations.find(({ id }) => id === decodeURIComponent(location.hash.slice(1)));
  showList();
  if (operation) showOperation(operation); else showBeginning(problem);
}

const narrow = matchMedia("(max-width: 50rem)");
if (narrow.matches) byId("menu").open = false;
addEventListener("hashchange", () => {
  showPlace();
  if (narrow.matches) byId("menu").open = false;
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
});

// Without the administration there is no such path; then nobody has logged in there.
async function readSession() {
  const answer = await fetch("ui/session", { headers: token.value ? { Authorization: `Bearer ${token.value}` } : {} }).catch(() => null);
  page.session = answer && answer.ok ? await answer.json() : answer && answer.status === 404 ? { named: Boolean(token.value), principal: "" } : null;
  byId("ui").hidden = !answer || answer.status === 404;
  byId("token-field").hidden = Boolean(page.session && (!page.session.named || page.session.by_cookie));
}

async function readSandboxes() {
  const answer = await fetch("admin/sandboxes?limit=50", { headers: credentials() }).catch(() => null);
  const { sandboxes } = answer && answer.ok ? await answer.json() : { sandboxes: [] };
  page.sandboxes = sandboxes.filter((box) => !page.session || box.principal === page.session.principal).sort((one, other) => other.last_used - one.last_used).map((box) => box.id);
  const list = byId("sandboxes") || element("datalist", { id: "sandboxes" });
  list.replaceChildren(...page.sandboxes.map((id) => element("option", { value: id })));
  document.body.append(list);
}

function operationsOf(document) {
  return Object.entries(document.paths).flatMap(([path, item]) => Object.entries(item).map(([method, operation]) => {
    const gives = ((operation.responses["200"] || {}).content) || {};
    const isTool = path.startsWith(toolPath);
    return { ...operation, path, method, id: operation.operationId, group: isTool ? operation.tags[0] : operation.tags[0] === "administration" ? "administration" : "files and shells",
      streams: !isTool && Boolean(gives["text/event-stream"]), file: Boolean(((operation.requestBody || {}).content || {})["application/octet-stream"] || gives["application/octet-stream"]) };
  }));
}

async function load() {
  await readSession();
  const answer = await fetch(`openapi.json${location.search}`, { headers: credentials() }).catch(() => null);
  if (!answer || !answer.ok) {
    page.operations = [];
    showPlace(!answer ? "The server does not answer." : answer.status === 401 ? "The server asks for a token: enter it above, or log in at “What runs”." : (await answer.json()).error);
    return;
  }
  const document = await answer.json();
  page.error = document.components.schemas.Error;
  await readSandboxes();
  page.operations = operationsOf(document);
  showPlace();
}

token.addEventListener("change", load);
byId("find").addEventListener("input", showList);
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
load();
