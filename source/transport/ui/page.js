"use strict";

// One page over /admin and the tools. All that comes from the server is set as text, never as markup.

const byId = (id) => document.getElementById(id);
const main = byId("main");
const state = { session: null, pane: "now", runs: [], usage: { machine: {}, principals: [] }, ends: [], egress: [], dropped: 0, stream: null };
const longest = 200;

// ---------------------------------------------------------------- elements
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const button = (text, act, attributes) => element("button", { type: "button", onclick: act, ...attributes }, text);

function notice(text) {
  byId("notice").hidden = !text;
  byId("notice").textContent = text || "";
}

// ---------------------------------------------------------------- words
const units = ["B", "KiB", "MiB", "GiB", "TiB"];

function bytes(number) {
  if (number === null || number === undefined) return "";
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) { number /= 1024; unit += 1; }
  return `${unit && number < 10 ? number.toFixed(1) : Math.round(number)} ${units[unit]}`;
}

function seconds(number) {
  if (number === null || number === undefined) return "";
  if (number < 10) return `${number.toFixed(1)} s`;
  if (number < 120) return `${Math.round(number)} s`;
  if (number < 7200) return `${Math.round(number / 60)} min`;
  return number < 172800 ? `${Math.round(number / 3600)} h` : `${Math.round(number / 86400)} d`;
}

const time = (at) => typeof at === "number" ? new Date(at * 1000) : new Date(at);
const clock = (at) => at ? time(at).toLocaleTimeString([], { hour12: false }) : "";
const ago = (at) => at ? `${seconds(Math.max(0, Date.now() / 1000 - time(at) / 1000))} ago` : "";
const owner = (principal) => principal || "(everybody)";

// ---------------------------------------------------------------- server
class Refusal extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

async function ask(method, path, body) {
  const headers = { Accept: "application/json" };
  if (method !== "GET" && state.session && state.session.csrf) headers["X-CSRF-Token"] = state.session.csrf;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method, headers, credentials: "same-origin", body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await answer.text();
  let told = {};
  try { told = text ? JSON.parse(text) : {}; } catch { told = { error: text.slice(0, 300) }; }
  if (answer.status === 401) { showLogin(); throw new Refusal(401, told.error || "Log in again."); }
  if (!answer.ok) throw new Refusal(answer.status, told.error || `The server answered ${answer.status}.`);
  return told;
}

const tool = (name, body) => ask("POST", `mcp/tools/${name}`, body);
const inPath = encodeURIComponent;

async function attempt(work) {
  notice("");
  try { return await work(); } catch (problem) { notice(problem.message); return undefined; }
}

async function confirmed(question, work) {
  if (!await asked(question)) return;
  await attempt(work);
  await refresh();
}

// ---------------------------------------------------------------- dialogs
let closing = null;

function openDialog(title, ...body) {
  byId("dialog-title").textContent = title;
  byId("dialog-body").replaceChildren(...body);
  if (!byId("dialog").open) byId("dialog").showModal();
}

function whenClosed(act) { closing = act; }

byId("dialog").addEventListener("close", () => {
  const act = closing;
  closing = null;
  byId("dialog-body").replaceChildren();
  if (act) act();
});

function asked(question) {
  return new Promise((resolve) => {
    let answer = false;
    const say = (what) => () => { answer = what; byId("dialog").close(); };
    openDialog(question, element("div", { class: "tools" }, button("Yes", say(true), { class: "danger", autofocus: true }), button("No", say(false))));
    whenClosed(() => resolve(answer));
  });
}

function form(title, fields, act) {
  const inputs = {};
  const rows = fields.map(({ name, label, value, hint }) => {
    inputs[name] = element("input", { name, value: value || "", autocomplete: "off" });
    return element("label", {}, label, inputs[name], hint ? element("small", { class: "dim" }, hint) : null);
  });
  const send = async (event) => {
    event.preventDefault();
    const values = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value.trim()]));
    byId("dialog").close();
    await attempt(() => act(values));
  };
  openDialog(title, element("form", { class: "fields", onsubmit: send }, ...rows, element("div", {}, element("button", {}, "Do it"))));
  Object.values(inputs)[0].focus();
}

// ---------------------------------------------------------------- tables
// Rows are kept by key, so that what a reader has opened or focused stays while figures change.
class Table {
  constructor(name, columns, empty) {
    this.columns = columns;
    this.rows = new Map();
    this.body = element("tbody");
    this.none = element("p", { class: "empty" }, empty);
    const heads = columns.map((column) => element("th", { scope: "col", class: column.kind }, column.name));
    const table = element("table", { "aria-label": name }, element("thead", {}, element("tr", {}, ...heads)), this.body);
    this.node = element("div", {}, element("div", { class: "scroll" }, table), this.none);
  }

  show(items, key) {
    const seen = new Set();
    let place = this.body.firstElementChild;
    for (const item of items) {
      const id = key(item);
      if (seen.has(id)) continue;
      seen.add(id);
      const row = this.row(id, item);
      if (row === place) place = place.nextElementSibling;
      else this.body.insertBefore(row, place);
    }
    for (const [id, row] of this.rows) if (!seen.has(id)) { row.remove(); this.rows.delete(id); }
    this.none.hidden = seen.size > 0;
  }

  row(id, item) {
    let row = this.rows.get(id);
    if (!row) {
      row = element("tr", {}, ...this.columns.map((column) => element("td", { class: column.kind, "data-name": column.name })));
      this.rows.set(id, row);
    }
    this.columns.forEach((column, index) => {
      const cell = row.children[index];
      const value = column.value(item);
      if (value instanceof Node || Array.isArray(value)) {
        const sign = column.sign ? column.sign(item) : JSON.stringify(item);
        if (cell.sign !== sign) { cell.replaceChildren(...[value].flat()); cell.sign = sign; }
      } else if (cell.textContent !== String(value ?? "")) cell.textContent = value ?? "";
    });
    return row;
  }
}

const badge = (text, kind) => element("span", { class: `badge ${kind || ""}` }, text);
const ownerColumn = () => state.session.everything ? [{ name: "Principal", value: (row) => owner(row.principal) }] : [];

// ---------------------------------------------------------------- panes
const panes = {};

function search(label, act) {
  let waiting = 0;
  return element("input", { type: "search", placeholder: label, "aria-label": label, oninput: (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => act(event.target.value.trim()), 200);
  } });
}

const holds = (row, wanted) => !wanted || JSON.stringify(row).toLowerCase().includes(wanted.toLowerCase());

panes.now = {
  title: "Now",
  count: () => state.runs.length,
  build() {
    this.tiles = element("ul", { class: "tiles", "aria-label": "The machine" });
    this.wanted = "";
    this.table = new Table("What runs now", [
      { name: "State", value: (run) => badge(run.state, run.state === "waiting" ? "warn" : "good"), sign: (run) => run.state },
      ...ownerColumn(),
      { name: "What", value: (run) => `${run.kind}${run.tool ? " " + run.tool : ""}` },
      { name: "First line", kind: "line", sign: (run) => run.first_line + run.output_tail, value: (run) => this.line(run) },
      { name: "Memory", kind: "number", value: (run) => bytes(run.memory_bytes) },
      { name: "CPU", kind: "number", value: (run) => seconds(run.cpu_seconds) },
      { name: "Time", kind: "number", value: (run) => seconds(Math.max(0, Date.now() / 1000 - run.started)) },
      { name: "", kind: "acts", sign: (run) => run.id, value: (run) => button("End", () => this.end(run), { class: "danger", "aria-label": `End ${run.tool || run.kind} ${run.first_line}` }) },
    ], "Nothing runs now.");
    return [this.tiles, element("div", { class: "tools" }, search("Filter what runs", (text) => { this.wanted = text; this.update(); })), this.table.node];
  },
  line(run) {
    const first = element("code", {}, run.first_line || "");
    if (!run.output_tail) return first;
    const open = this.open && this.open.has(run.id);
    const details = element("details", { open, ontoggle: (event) => this.note(run.id, event.target.open) },
      element("summary", {}, first), element("pre", {}, run.output_tail));
    return details;
  },
  note(id, open) {
    this.open = this.open || new Set();
    if (open) this.open.add(id); else this.open.delete(id);
  },
  end: (run) => confirmed(`End ${run.tool || run.kind} of ${owner(run.principal)}?`, () => ask("DELETE", `admin/runs/${inPath(run.id)}`)),
  update() {
    const machine = state.usage.machine;
    const tiles = [["runs", machine.runs === undefined ? state.runs.length : `${machine.runs} of ${machine.max_runs}`], ["wait", machine.runs_waiting],
      ["sandboxes", machine.sandboxes], ["live", machine.live], ["kernels", machine.kernels], ["shells", machine.shells], ["jobs", machine.jobs],
      ["sessions", machine.sessions], ["connections", machine.connections], ["memory", machine.memory_bytes === undefined ? undefined : bytes(machine.memory_bytes)],
      ["load", machine.load && machine.load.length ? machine.load[0].toFixed(2) : undefined]];
    this.tiles.replaceChildren(...tiles.filter(([, value]) => value !== undefined).map(([name, value]) => element("li", {}, element("b", {}, String(value)), element("span", {}, name))));
    this.table.show(state.runs.filter((run) => holds(run, this.wanted)), (run) => run.id);
  },
};

panes.failed = {
  title: "Why it failed",
  count: () => state.ends.length,
  build() {
    this.wanted = "";
    this.dropped = element("p", { class: "dim" });
    this.table = new Table("Runs that did not simply end", [
      { name: "At", value: (end) => clock(end.at) },
      ...ownerColumn(),
      { name: "Cause", value: (end) => badge(end.cause || "refused", "bad"), sign: (end) => end.cause },
      { name: "Tool", value: (end) => end.tool },
      { name: "Code", kind: "line", value: (end) => element("code", {}, end.first_line || ""), sign: (end) => end.first_line },
      { name: "Why", kind: "line", value: (end) => this.why(end), sign: (end) => end.key },
    ], "Every run so far ended by itself.");
    return [element("div", { class: "tools" }, search("Filter ends", (text) => { this.wanted = text; this.update(); }), this.dropped), this.table.node];
  },
  why(end) {
    const denied = [end.denied || []].flat();
    const parts = [element("div", {}, end.sentence || "")];
    if (denied.length) parts.push(element("ul", {}, ...denied.map((each) => element("li", {}, each))));
    if (end.setting) parts.push(element("div", {}, "Would be allowed by ", element("code", {}, end.setting), " ",
      button("Copy", () => navigator.clipboard.writeText(end.setting), { "aria-label": `Copy ${end.setting}` })));
    return parts;
  },
  update() {
    this.dropped.textContent = state.dropped ? `${state.dropped} came too fast to be shown here.` : "";
    this.table.show(state.ends.filter((end) => holds(end, this.wanted)), (end) => end.key);
  },
};

panes.sandboxes = {
  title: "Sandboxes",
  count: () => state.usage.machine.sandboxes,
  build() {
    this.match = "";
    this.pages = [""];
    this.summary = element("span", { class: "dim" });
    this.back = button("Back", () => { this.pages.pop(); this.load(); });
    this.next = button("Next", () => { this.pages.push(this.after); this.load(); });
    this.table = new Table("Sandboxes", [
      { name: "Name", value: (box) => [element("div", {}, box.name), element("code", { class: "dim" }, box.id)], sign: (box) => box.name + box.id },
      ...ownerColumn(),
      { name: "State", value: (box) => badge(box.state, box.state === "running" ? "good" : ""), sign: (box) => box.state },
      { name: "Image", value: (box) => box.image },
      { name: "Disk", kind: "number", value: (box) => bytes(box.disk_bytes) },
      { name: "Kernels", kind: "number", value: (box) => box.kernels || "" },
      { name: "Shells", kind: "number", value: (box) => box.shells || "" },
      { name: "Ports", value: (box) => (box.ports || []).map((port) => port.port || port).join(", ") },
      { name: "Used", value: (box) => ago(box.last_used) },
      { name: "", kind: "acts", value: (box) => this.acts(box), sign: (box) => box.id },
    ], "There is no sandbox.");
    const create = button("New sandbox", () => form("New sandbox", [{ name: "name", label: "Name" }], async ({ name }) => { await tool("create_sandbox", name ? { name } : {}); this.load(); }));
    const find = search("Name, id or principal", (text) => { this.match = text; this.pages = [""]; this.load(); });
    return [element("div", { class: "tools" }, find, create, this.back, this.next, this.summary), this.table.node];
  },
  acts(box) {
    const mine = box.principal === state.session.principal;
    const own = { disabled: !mine, title: mine ? null : "Only its owner can do this" };
    return [button("Files", () => showFiles(box), own), button("Terminal", () => showTerminal(box), own), button("Ports", () => showPorts(box), own),
      button("Fork", () => form(`Copy ${box.name}`, [{ name: "name", label: "Name of the copy" }], async ({ name }) => { await tool("fork_sandbox", { sandbox_id: box.id, ...(name ? { name } : {}) }); this.load(); }), own),
      button("Snapshots", () => showSnapshots(box), own),
      button("Delete", () => confirmed(`Delete the sandbox ${box.name} with all its files?`, () => ask("DELETE", `admin/sandboxes/${inPath(box.id)}`)), { class: "danger" })];
  },
  async load() {
    const query = new URLSearchParams({ limit: "100", after: this.pages[this.pages.length - 1], match: this.match });
    const told = await ask("GET", `admin/sandboxes?${query}`);
    this.after = told.next;
    this.back.disabled = this.pages.length < 2;
    this.next.disabled = !told.next;
    this.summary.textContent = `${told.sandboxes.length} of ${told.total}`;
    this.table.show(told.sandboxes, (box) => box.id);
  },
};

panes.jobs = {
  title: "Jobs",
  count: () => state.usage.machine.jobs,
  build() {
    this.table = new Table("Jobs and tasks", [
      { name: "State", value: (job) => badge(job.state, { running: "good", waiting: "warn", lost: "bad", failed: "bad" }[job.state]), sign: (job) => job.state },
      ...ownerColumn(),
      { name: "Kind", value: (job) => job.kind },
      { name: "Tool", value: (job) => job.tool },
      { name: "Code", kind: "line", value: (job) => element("code", {}, job.summary || ""), sign: (job) => job.summary },
      { name: "Begun", value: (job) => ago(job.created) },
      { name: "Ended", value: (job) => ago(job.ended) },
      { name: "", kind: "acts", sign: (job) => job.state, value: (job) => job.ended ? [] : button("Cancel", () => confirmed(`Cancel this ${job.kind}?`, () => ask("DELETE", `admin/jobs/${inPath(job.id)}`)), { class: "danger" }) },
    ], "There are no jobs and no tasks.");
    return [this.table.node];
  },
  async load() { this.table.show((await ask("GET", "admin/jobs")).jobs, (job) => job.id); },
};

panes.sessions = {
  title: "Sessions",
  count: () => state.usage.machine.sessions,
  build() {
    this.table = new Table("Sessions of clients", [
      { name: "Client", value: (session) => session.client || "(unnamed)" },
      ...ownerColumn(),
      { name: "Revision", value: (session) => session.revision },
      { name: "Transport", value: (session) => session.transport },
      { name: "From", value: (session) => session.address },
      { name: "Begun", value: (session) => ago(session.started) },
      { name: "Used", value: (session) => ago(session.last_used) },
      { name: "Requests", kind: "number", value: (session) => session.requests },
      { name: "", kind: "acts", sign: (session) => session.id, value: (session) => button("End", () => confirmed("End this session and what runs for it?", () => ask("DELETE", `admin/sessions/${inPath(session.id)}`)), { class: "danger" }) },
    ], "No client has a session. Clients of the current revision need none.");
    return [this.table.node];
  },
  async load() { this.table.show((await ask("GET", "admin/sessions")).sessions, (session) => session.id); },
};

panes.egress = {
  title: "Network",
  count: () => state.egress.length,
  build() {
    this.wanted = "";
    this.table = new Table("Connections that were asked for", [
      { name: "At", value: (row) => clock(row.at) },
      ...ownerColumn(),
      { name: "Decision", value: (row) => row.allowed ? badge("allowed", "good") : badge("refused", "bad"), sign: (row) => String(row.allowed) },
      { name: "To", kind: "line", value: (row) => element("code", {}, `${row.host}:${row.port}`), sign: (row) => row.host + row.port },
      { name: "Why", kind: "line", value: (row) => row.reason },
    ], "Nobody has asked for a connection to the outside.");
    return [element("div", { class: "tools" }, search("Filter connections", (text) => { this.wanted = text; this.update(); })), this.table.node];
  },
  update() { this.table.show(state.egress.filter((row) => holds(row, this.wanted)), (row) => row.key); },
};

panes.principals = {
  title: "Principals",
  count: () => state.usage.principals.length,
  build() {
    const columns = ["runs", "jobs", "kernels", "shells", "sandboxes", "sessions"].map((name) => (
      { name: name[0].toUpperCase() + name.slice(1), kind: "number", sign: (row) => `${row[name]}/${this.limit(row, name)}`, value: (row) => this.use(row[name], this.limit(row, name), name) }));
    this.table = new Table("Use of each principal", [
      { name: "Principal", value: (row) => owner(row.principal) },
      { name: "Calls", kind: "number", value: (row) => row.calls },
      { name: "Failed", kind: "number", value: (row) => row.calls_failed },
      { name: "CPU", kind: "number", value: (row) => seconds(row.cpu_seconds) },
      ...columns,
      { name: "Disk", kind: "number", sign: (row) => `${row.disk_bytes}/${this.limit(row, "disk")}`, value: (row) => this.use(row.disk_bytes, this.limit(row, "disk"), "disk", bytes) },
    ], "Nobody has called yet.");
    this.keys = new Table("API keys", [
      { name: "Key", value: (key) => element("code", {}, key.id), sign: (key) => key.id },
      { name: "Principal", value: (key) => key.principal },
      { name: "Scopes", value: (key) => key.scopes.replaceAll("mcp:", "") },
      { name: "From", value: (key) => key.networks || "anywhere" },
      { name: "Expires", value: (key) => key.expires ? time(key.expires).toLocaleString() : "never" },
      { name: "Used", value: (key) => key.last_used ? ago(key.last_used) : "never" },
      { name: "Note", value: (key) => key.note },
      { name: "", kind: "acts", sign: (key) => String(key.revoked), value: (key) => key.revoked ? badge("revoked") : button("Revoke", () => confirmed(`Revoke the key ${key.id} of ${key.principal}?`, () => ask("DELETE", `admin/keys/${inPath(key.id)}`)), { class: "danger" }) },
    ], "There are no API keys.");
    const parts = [element("h2", {}, "Use and quotas"), this.table.node];
    if (!state.session.administers_keys) return parts;
    return [element("div", { class: "tools" }, button("New key", () => this.newKey()), button("Set a quota", () => this.setQuota())), ...parts, element("h2", {}, "API keys"), this.keys.node];
  },
  limit: (row, name) => row.limits ? row.limits[name] : undefined,
  use(number, most, name, text = String) {
    if (!most) return text(number ?? 0);
    return [element("div", {}, `${text(number ?? 0)} of ${text(most)}`), element("meter", { min: 0, max: most, value: Math.min(number ?? 0, most), high: most * 0.9, "aria-label": name })];
  },
  newKey: () => form("New key", [{ name: "principal", label: "Principal", hint: "To whom belongs what is made with the key" },
    { name: "scopes", label: "Scopes", value: "mcp:read mcp:files mcp:run mcp:sandboxes mcp:packages mcp:web" }, { name: "lasts", label: "Lasts", hint: "12h, 90d, 1y; empty: without end" },
    { name: "networks", label: "From", hint: "Addresses and networks, as 10.0.0.0/8; empty: anywhere" }, { name: "note", label: "Note" }],
    async (values) => {
      const told = await ask("POST", "admin/keys", values);
      openDialog("This key is shown once", element("pre", {}, told.key), button("Copy", () => navigator.clipboard.writeText(told.key)));
      await refresh();
    }),
  setQuota: () => form("Set a quota", [{ name: "principal", label: "Principal" }, { name: "limits", label: "Limits", hint: "As runs=2 calls=60 disk=2048; `container-mcp quota names` shows the names" }],
    async ({ principal, limits }) => { await ask("PUT", `admin/quotas/${inPath(principal)}`, { limits: limits.split(/\s+/).filter(Boolean) }); await refresh(); }),
  async load() {
    this.update();
    if (state.session.administers_keys) this.keys.show((await ask("GET", "admin/keys")).keys, (key) => key.id);
  },
  update() { this.table.show(state.usage.principals, (row) => row.principal); },
};

panes.layers = {
  title: "Layers",
  build() {
    this.about = element("p", {});
    this.problems = element("ul", { class: "bad" });
    this.table = new Table("Layers of the sandbox", [
      { name: "Layer", value: (layer) => element("code", {}, layer.name), sign: (layer) => layer.name },
      { name: "State", value: (layer) => badge(layer.state, { on: "good", off: "bad", degraded: "warn" }[layer.state]), sign: (layer) => layer.state },
      { name: "What it is", kind: "line", value: (layer) => layer.detail },
    ], "No layers are known.");
    return [this.about, this.problems, this.table.node];
  },
  async load() {
    const told = await ask("GET", "admin/layers");
    this.about.textContent = `Version ${told.version}, up for ${seconds(told.uptime_seconds)}.`;
    this.problems.replaceChildren(...(told.problems || []).map((problem) => element("li", {}, problem)));
    this.table.show(told.layers, (layer) => layer.name);
  },
};

// ---------------------------------------------------------------- sandboxes: files, terminal, ports, snapshots
async function showFiles(box, path = ".") {
  await attempt(async () => {
    const told = await tool("file_list", { sandbox_id: box.id, path });
    const up = path === "." ? [] : [button("..", () => showFiles(box, path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "."))];
    const join = (name) => path === "." ? name : `${path}/${name}`;
    const rows = (told.entries || []).map((entry) => {
      const name = entry.name || entry.path;
      const folder = entry.type === "directory" || entry.is_directory;
      return element("li", {}, button(folder ? `${name}/` : name, () => folder ? showFiles(box, join(name)) : showFile(box, join(name), path)), ` ${folder ? "" : bytes(entry.size)}`);
    });
    openDialog(`Files of ${box.name}: ${path}`, ...up, rows.length ? element("ul", {}, ...rows) : element("p", { class: "empty" }, "This folder is empty."));
  });
}

async function showFile(box, path, folder) {
  await attempt(async () => {
    const told = await tool("file_read", { sandbox_id: box.id, path });
    const link = await tool("download_file_from_sandbox", { sandbox_id: box.id, file_path: path, limit: 1 }).catch(() => ({}));
    const href = link.file_link || link.download_url || link.url;
    openDialog(path, button("Back", () => showFiles(box, folder)), " ", href ? element("a", { href, download: "" }, "Download") : null, element("pre", {}, told.content ?? ""));
  });
}

async function showPorts(box) {
  await attempt(async () => {
    const told = await tool("list_exposed_ports", { sandbox_id: box.id });
    const rows = (told.ports || []).map((port) => element("li", {}, element("a", { href: port.url, target: "_blank", rel: "noreferrer" }, String(port.port)), " ",
      button("Hide", async () => { await attempt(() => tool("unexpose_port", { sandbox_id: box.id, port: port.port })); showPorts(box); })));
    const add = button("Show a port", () => form("Show a port", [{ name: "port", label: "Port" }], async ({ port }) => { await tool("expose_port", { sandbox_id: box.id, port: Number(port) }); showPorts(box); }));
    openDialog(`Ports of ${box.name}`, rows.length ? element("ul", {}, ...rows) : element("p", { class: "empty" }, "No port is shown."), add);
  });
}

async function showSnapshots(box) {
  await attempt(async () => {
    const told = await tool("snapshot_sandbox", { sandbox_id: box.id, action: "list" });
    const rows = (told.snapshots || []).map((each) => element("li", {}, `${each.name} ${bytes(each.disk_bytes)} `,
      button("Restore", () => confirmed(`Put ${box.name} back to ${each.name}? What it holds now is lost.`, () => tool("restore_sandbox", { sandbox_id: box.id, snapshot: each.name }))), " ",
      button("Delete", async () => { await attempt(() => tool("snapshot_sandbox", { sandbox_id: box.id, action: "delete", name: each.name })); showSnapshots(box); }, { class: "danger" })));
    const add = button("Take a snapshot", () => form("Snapshot", [{ name: "name", label: "Name" }], async ({ name }) => { await tool("snapshot_sandbox", { sandbox_id: box.id, ...(name ? { name } : {}) }); showSnapshots(box); }));
    openDialog(`Snapshots of ${box.name}`, rows.length ? element("ul", {}, ...rows) : element("p", { class: "empty" }, "There is none."), add);
  });
}

const named = { Enter: "enter", Tab: "tab", Backspace: "backspace", Escape: "escape", ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right",
  Home: "home", End: "end", PageUp: "pageup", PageDown: "pagedown", Delete: "delete" };

async function showTerminal(box) {
  const opened = await attempt(() => tool("shell_open", { sandbox_id: box.id, cols: 100, rows: 28 }));
  if (!opened) return;
  const screen = element("pre", { class: "screen", tabindex: "0", role: "log", "aria-label": `Terminal of ${box.name}` });
  let open = true, sending = Promise.resolve();
  const send = (what) => { sending = sending.then(() => attempt(() => tool("shell_send", { shell_id: opened.shell_id, ...what }))); };
  screen.addEventListener("keydown", (event) => {
    if (event.metaKey || event.altKey) return;
    const control = event.ctrlKey && event.key.length === 1 ? `ctrl-${event.key.toLowerCase()}` : named[event.key];
    if (control) send({ keys: [control] });
    else if (event.key.length === 1 && !event.ctrlKey) send({ text: event.key });
    else return;
    event.preventDefault();
  });
  screen.addEventListener("paste", (event) => { send({ text: event.clipboardData.getData("text") }); event.preventDefault(); });
  openDialog(`Terminal of ${box.name}`, screen, element("p", { class: "dim" }, "Keys go to the shell while the terminal has the focus; Shift+Tab leaves it."));
  whenClosed(() => { open = false; tool("shell_close", { shell_id: opened.shell_id }).catch(() => {}); });
  screen.focus();
  let cursor = 0;
  while (open) {
    const told = await attempt(() => tool("shell_read", { shell_id: opened.shell_id, cursor, screen: true, timeout: 20, quiet_ms: 30 }));
    if (!told || !open) break;
    screen.textContent = told.screen ?? told.output ?? "";
    cursor = told.cursor ?? cursor;
    if (told.running === false) { screen.textContent += "\n(the shell has ended)"; break; }
  }
}

// ---------------------------------------------------------------- the page
function showTabs() {
  byId("panes").hidden = false;
  byId("panes").replaceChildren(...Object.entries(panes).map(([name, pane]) => {
    const number = pane.count ? pane.count() : undefined;
    return element("a", { href: `#${name}`, "aria-current": name === state.pane ? "page" : null }, pane.title, number === undefined ? null : element("b", {}, ` ${number}`));
  }));
}

function updateTabs() {
  const links = byId("panes").children;
  Object.values(panes).forEach((pane, index) => {
    const number = pane.count ? pane.count() : undefined;
    let mark = links[index].querySelector("b");
    if (number === undefined) return;
    if (!mark) { mark = element("b"); links[index].append(mark); }
    if (mark.textContent !== ` ${number}`) mark.textContent = ` ${number}`;
  });
}

async function refresh() {
  const pane = panes[state.pane];
  if (pane.update) pane.update();
  if (pane.load) await attempt(() => pane.load());
}

async function showPane(name) {
  if (!state.session) return;
  state.pane = panes[name] ? name : "now";
  document.title = `${panes[state.pane].title} · Container-MCP`;
  showTabs();
  main.replaceChildren(...panes[state.pane].build());
  await refresh();
}

let drawing = false, lastLoad = 0;

// A thousand events in a second are one change of the page.
function drawSoon(reload) {
  if (reload && panes[state.pane].load && Date.now() - lastLoad > 2000) { lastLoad = Date.now(); attempt(() => panes[state.pane].load()); }
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    if (!state.session) return;
    updateTabs();
    if (panes[state.pane].update) panes[state.pane].update();
  });
}

let count = 0;
function remember(list, row) {
  count += 1;
  row.key = `${row.at}-${count}`;
  list.unshift(row);
  if (list.length > longest) list.length = longest;
}

function follow() {
  if (state.stream) state.stream.close();
  const stream = state.stream = new EventSource("admin/events");
  const on = (name, act, reload) => stream.addEventListener(name, (event) => { act(JSON.parse(event.data)); drawSoon(reload); });
  on("runs", (told) => { state.runs = told.runs; });
  on("usage", (told) => { state.usage = told; }, true);
  on("end", (told) => remember(state.ends, told));
  on("egress", (told) => remember(state.egress, told));
  on("dropped", (told) => { state.dropped += told.count; });
  stream.addEventListener("open", () => { byId("health").replaceChildren(badge("live", "good")); });
  stream.addEventListener("error", () => {
    byId("health").replaceChildren(badge("not connected", "bad"));
    if (stream.readyState === EventSource.CLOSED) setTimeout(start, 3000);
  });
}

function showLogin() {
  state.session = null;
  if (state.stream) state.stream.close();
  if (byId("panes").hidden && main.querySelector(".login")) return;
  byId("panes").hidden = true;
  byId("leave").hidden = true;
  byId("who").textContent = "";
  byId("health").replaceChildren();
  const input = element("input", { id: "token", type: "password", autocomplete: "current-password", required: true });
  const send = async (event) => {
    event.preventDefault();
    await attempt(async () => {
      const answer = await fetch("ui/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token: input.value.trim() }) });
      const told = await answer.json();
      if (!answer.ok) throw new Refusal(answer.status, told.error);
      input.value = "";
      await start();
    });
  };
  main.replaceChildren(element("div", { class: "login" }, element("h2", {}, "Log in"),
    element("form", { onsubmit: send }, element("label", { for: "token" }, "API key or token"), input, element("button", {}, "Log in")),
    element("div", { id: "issuers" }), element("p", { class: "dim" }, "The key stays in the server's memory; the browser keeps a cookie that scripts cannot read.")));
  offerIssuers();
  input.focus();
}

async function offerIssuers() {
  const told = await fetch("ui/issuers").then((answer) => answer.ok ? answer.json() : { issuers: [] });
  const place = byId("issuers");
  if (place) place.replaceChildren(...told.issuers.map((issuer) => element("p", {}, element("a", { href: `ui/oauth?issuer=${inPath(issuer)}` }, `Log in at ${issuer}`))));
}

async function start() {
  const answer = await fetch("ui/session", { credentials: "same-origin" });
  if (answer.status === 401) { showLogin(); return; }
  if (!answer.ok) { notice((await answer.json()).error); return; }
  state.session = await answer.json();
  byId("version").textContent = state.session.version;
  byId("who").textContent = state.session.named ? `${state.session.principal}${state.session.everything ? ", administrator" : ""}` : "no login is needed here";
  byId("leave").hidden = !state.session.by_cookie;
  const told = await Promise.all([ask("GET", "admin/ends"), ask("GET", "admin/egress")]);
  state.ends = [];
  state.egress = [];
  for (const end of told[0].ends.toReversed()) remember(state.ends, end);
  for (const row of told[1].decisions.toReversed()) remember(state.egress, row);
  follow();
  await showPane(location.hash.slice(1) || "now");
}

byId("leave").addEventListener("click", () => attempt(async () => { await ask("POST", "ui/logout"); showLogin(); }));
addEventListener("hashchange", () => { showPane(location.hash.slice(1)).then(() => main.focus()); });
setInterval(() => { if (state.session && state.pane === "now" && !document.hidden) drawSoon(false); }, 1000);
start().catch((problem) => notice(problem.message));
