// The panes that are asked for: health and layers, upstream servers, jobs, sessions, the audit.

import { ago, badge, button, clock, copyButton, count, element, inPath, note, seconds, setText } from "./elements.js";
import { columnsOf } from "./columns.js";
import { confirmed, openDialog, whenClosed } from "./dialogs.js";
import { fetchList, keyOf, machine, placeOf, sandboxLink } from "./nodes.js";
import { ask, attempt, may, state, tool } from "./server.js";
import { Table, holds, search } from "./table.js";

export const health = {
  title: "Health",
  build() {
    this.state = element("p", { class: "health" });
    this.problems = element("ul", { class: "bad" });
    this.about = element("div");
    this.table = new Table("Layers of the sandbox", () => columnsOf("layers", { draw: { name: { kind: "name", sign: (layer) => layer.name, draw: (layer) => element("code", {}, layer.name) }, detail: { kind: "line" } } }), "No layers are known.");
    const reload = button("Read the settings again", () => attempt(() => this.reload()));
    return [this.state, this.problems, this.about, state.session.everything && may("admin") ? element("div", { class: "tools" }, reload) : null, element("h3", {}, "Layers"), this.table.node];
  },
  async reload() {
    const done = await ask("POST", state.node ? `admin/reload?node=${inPath(state.node)}` : "admin/reload");
    const list = (title, names) => names.length ? [element("p", {}, title), element("ul", {}, names.map((name) => element("li", {}, element("code", {}, name))))] : [];
    const nodes = [...list("Changed:", done.changed), ...list("These count from the next start on:", done.needs_restart)];
    openDialog(state.node ? `Settings of ${state.node}` : "Settings", ...(nodes.length ? nodes : [element("p", {}, "Nothing has changed.")]));
  },
  async load() {
    const answer = await fetchList("layers");
    const abouts = answer.nodes || [answer];
    const of = ({ node }) => node ? `${node}: ` : "";
    this.state.replaceChildren(...abouts.flatMap((about) => [badge(`${of(about)}${about.status === "ok" ? "well" : "unready"}`, about.status === "ok" ? "good" : "bad"), " "]));
    this.problems.replaceChildren(...abouts.flatMap((about) => (about.problems || []).map((problem) => element("li", {}, of(about) + problem))));
    const rank = (layer) => layer.state === "on" ? 1 : 0;
    while (this.about.children.length > abouts.length) this.about.lastChild.remove();
    while (this.about.children.length < abouts.length) this.about.append(note(""));
    abouts.forEach((about, index) => {
      const own = answer.layers.filter((layer) => layer.node === about.node);
      setText(this.about.children[index], `${of(about)}Version ${about.version}, up for ${seconds(about.uptime_seconds)}, ${own.filter(rank).length} of ${count(own.length, "layer")} on.`);
    });
    this.table.show(answer.layers.sort((one, other) => rank(one) - rank(other)), (layer) => [layer.node, layer.name].join(" "));
  },
};

// ---------------------------------------------------------------- other MCP servers
export const upstream = {
  title: "Upstream",
  build() {
    this.table = new Table("Other MCP servers whose tools code calls", () => columnsOf("upstreams", { draw: {
      kind: { value: (server) => server.kind, text: (server) => server.kind === "stdio" ? "program" : server.kind },
      problem: { kind: "line" },
      place: { name: "At", kind: "line", sign: (server) => server.place, draw: (server) => element("code", {}, server.place) },
    } }), "config.toml names no other MCP servers ([upstream.NAME]).");
    return [this.table.node, note("A server is asked for its tools when code needs them first; until then it is idle and has none.")];
  },
  async load() {
    const answer = await fetchList("layers");
    const all = (answer.nodes || [answer]).flatMap(({ node, upstreams }) => (upstreams || []).map((server) => ({ ...server, ...(node ? { node } : {}) })));
    this.table.show(all, ({ node, name }) => [node, name].join(" "));
  },
};

const longestOutput = 200_000;   // characters

// The output so far, and what comes while the dialog is open.
async function showOutput(job) {
  const shown = element("pre", { tabIndex: 0 });
  const about = note("");
  let open = true, cursor = 0;
  openDialog(`Output of ${job.kind} “${job.summary || job.tool}”`, shown, about);
  whenClosed(() => { open = false; });
  while (open) {
    const polled = await attempt(() => tool("job_poll", { job_id: job.id, cursor, wait: cursor ? 20 : 0 }));
    if (!polled || !open) return;
    cursor = polled.cursor;
    if (polled.output) shown.textContent = (shown.textContent + polled.output).slice(-longestOutput);
    const ended = polled.result !== undefined || polled.cause;
    setText(about, [polled.state, polled.cause, (polled.result || {}).error].filter(Boolean).join("; ") + (shown.textContent ? "" : "; it has printed nothing"));
    if (ended && !polled.more) return;
  }
}

export const jobs = {
  title: "Jobs",
  count: () => state.session.everything ? machine().jobs : undefined,
  build() {
    const choice = may("run") ? { of: (job) => job.ended ? undefined : job.summary || job.tool, word: "Cancel", question: (names) => `Cancel ${names.join(", ")}?`, work: (job) => ask("DELETE", placeOf("jobs", job)), after: () => this.load() } : null;
    this.table = new Table("Jobs and tasks, newest first", () => columnsOf("jobs", { leave: ["id"], draw: {
      tool: { kind: "tool", sign: (job) => job.id, draw: (job) => [element("div", {}, job.tool), sandboxLink(job.sandbox_id)] },
      summary: { name: "First line", kind: "line", sign: (job) => job.summary, draw: (job) => element("code", {}, job.summary || "") },
    }, last: [{ name: "Ended", kind: "at", value: (job) => job.ended, text: (job) => ago(job.ended) }, { name: "Actions", kind: "acts", sign: (job) => job.state + job.ended, draw: (job) => this.acts(job) }] }), "There are no jobs and no tasks.", choice);
    return [this.table.node];
  },
  acts(job) {
    const own = job.principal === state.session.principal;
    const output = own ? button("Output", () => showOutput(job), { "aria-label": `Output of ${job.summary || job.id}` }) : null;
    if (job.ended) return [output];
    return [output, button("Cancel", () => confirmed(`Cancel the ${job.kind} “${job.summary || job.tool}”?`, "Cancel it", () => ask("DELETE", placeOf("jobs", job)), () => this.load()),
      { class: "danger", "aria-label": `Cancel ${job.summary || job.tool}`, disabled: !may("run") })];
  },
  async load() { this.table.show((await fetchList("jobs")).jobs, keyOf); },
};

export const sessions = {
  title: "Sessions",
  count: () => state.session.everything ? machine().sessions : undefined,
  build() {
    const named = (session) => session.client || "an unnamed client";
    const choice = { of: named, word: "End", question: (names) => `End the sessions of ${names.join(", ")}, and what runs for them?`, work: (session) => ask("DELETE", placeOf("sessions", session)), after: () => this.load() };
    this.table = new Table("Sessions of clients", () => columnsOf("sessions", { leave: ["id", "client"], draw: { transport: { value: (session) => session.transport, text: (session) => session.transport.replaceAll("_", " ") }, last_used: { name: "Used" } },
      first: [{ name: "Client", kind: "name", value: (session) => session.client, text: (session) => session.client || "(unnamed)" }],
      last: [{ name: "End", kind: "acts", sign: (session) => session.id, draw: (session) => button("End",
        () => confirmed(`End this session of ${named(session)}, and what runs for it?`, "End it", () => ask("DELETE", placeOf("sessions", session)), () => this.load()), { class: "danger", "aria-label": `End the session of ${named(session)}` }) }] }),
    "No client has a session. Clients of the revision 2026-07-28 need none.", choice);
    this.clients = note("");
    return [this.table.node, this.clients];
  },
  async load() {
    const { sessions: all } = await fetchList("sessions");
    this.table.show(all, keyOf);
    const by = new Map();
    for (const { client } of all) by.set(client || "(unnamed)", (by.get(client || "(unnamed)") || 0) + 1);
    setText(this.clients, all.length > 1 ? [...by].map(([client, number]) => `${client}: ${number}`).join("; ") : "");
  },
};

// ---------------------------------------------------------------- the audit
const kinds = ["call", "running", "job", "login", "login_refused", "egress", "admin"];
const badEnds = { refused: "warn", denied: "bad", tool_error: "warn" };

const whatOf = (record) => record.tool || (record.host ? `${record.host}:${record.port}` : [record.method, record.path || record.act || record.uri].filter(Boolean).join(" "));
const endOf = (record) => record.cause || record.decision || record.reason || record.status || "";

const tellsMore = (record) => [record.concerns ? element("div", {}, record.concerns) : null,
  record.credential ? element("div", { class: "dim" }, [record.credential, record.peer].filter(Boolean).join(" from ")) : null, sandboxLink(record.sandbox)];

// A signature holds for everything before it.
function sealOf(about) {
  if (!about) return [note(state.session.everything ? "This server keeps no audit; the setting AUDIT begins one." : "What you did yourself, newest first.")];
  const text = `Signed up to record ${about.sealed.toLocaleString("en")}${about.sealed_at ? ` (${ago(about.sealed_at)})` : ""}, the latest is ${about.last.toLocaleString("en")}.`;
  return [element("p", {}, badge(about.trouble || about.damage ? "in trouble" : "signed", about.trouble || about.damage ? "bad" : "good"), " ", text, " ",
    about.head ? copyButton(about.head, "Copy the head", "Copy the head") : null),
  ...[about.trouble, about.damage, about.dropped ? `${count(about.dropped, "record")} could not be kept.` : ""].filter(Boolean).map((problem) => element("p", { class: "bad" }, problem)),
  note("container-mcp audit verify checks every record on the disk.")];
}

export const audit = {
  title: "Audit",
  wanted: "",
  kind: "",
  build() {
    this.seal = element("div");
    this.rows = [];
    const choice = element("select", { "aria-label": "Kind of records", onchange: (event) => { this.kind = event.target.value; attempt(() => this.load()); } },
      ["", ...kinds].map((kind) => element("option", { value: kind, selected: kind === this.kind }, kind || "all kinds")));
    this.table = new Table("Records of the audit, newest first", () => columnsOf("records", { draw: {
      at: { name: "At", value: (record) => record.at, text: (record) => clock(record.at) },
      kind: { sign: (record) => record.kind, draw: (record) => badge(record.kind) },
      tool: { name: "What", kind: "line", sign: (record) => record.n, draw: (record) => element("code", {}, whatOf(record)) },
      cause: { name: "End", kind: "", sign: (record) => record.n, draw: (record) => endOf(record) ? badge(String(endOf(record)), badEnds[endOf(record)]) : null },
    }, last: [{ name: "By and on what", kind: "line", sign: (record) => record.n, draw: tellsMore }] }), "The audit has no such record.");
    return [this.seal, element("div", { class: "tools" }, search("Filter by principal, tool, host, path", (text) => { this.wanted = text; this.update(); }, this.wanted), choice), this.table.node];
  },
  async load() {
    const answer = await fetchList("audit", { limit: 200, ...(this.kind ? { kind: this.kind } : {}) });
    this.rows = answer.records;
    const seals = (answer.nodes || [answer]).flatMap(({ node, audit: about }) => [node ? element("h3", {}, node) : null, ...sealOf(about)]);
    this.seal.replaceChildren(...seals.filter(Boolean));
    this.update();
  },
  update() { this.table.show(this.rows.filter((record) => holds(record, this.wanted)), (record) => [record.node, record.n].join(" ")); },
};
