// The panes that the stream fills: what runs, why it failed, connections to the outside.

import { ago, badge, button, bytes, clock, copyButton, count, element, inPath, note, owner, seconds, setText } from "./elements.js";
import { confirmed } from "./dialogs.js";
import { keyOf, machine as machineShown, newestOf, nodeColumn, placeOf, rowsOf } from "./nodes.js";
import { ask, may, state } from "./server.js";
import { Table, holds, search } from "./table.js";

export const ownerColumn = () => state.session.everything && state.session.named ? [{ name: "Principal", kind: "name", text: (row) => owner(row.principal) }] : [];

export const sandboxLink = (id) => id ? element("a", { href: `#sandboxes/${inPath(id)}` }, element("code", {}, id)) : null;

// ---------------------------------------------------------------- what runs
function tilesOfMachine() {
  const machine = machineShown();
  const own = state.usage.principals.find((row) => row.principal === state.session.principal) || {};
  const of = (number, most) => number === undefined ? undefined : most ? `${number} of ${most}` : String(number);
  if (!state.session.everything)
    return [["runs", of(own.runs || 0, (own.limits || {}).runs || machine.max_runs)], ["wait", own.runs_waiting], ["sandboxes", own.sandboxes], ["kernels", own.kernels],
      ["shells", own.shells], ["jobs", own.jobs], ["sessions", own.sessions], ["disk", own.disk_bytes === undefined ? undefined : bytes(own.disk_bytes)]];
  return [["runs", of(machine.runs, machine.max_runs)], ["wait", machine.runs_waiting], ["sandboxes", machine.sandboxes], ["live", machine.live],
    ["kernels", machine.kernels], ["shells", machine.shells], ["jobs", machine.jobs], ["sessions", machine.sessions], ["connections", machine.connections],
    ["memory", machine.memory_bytes === undefined ? undefined : bytes(machine.memory_bytes)], ["load", machine.load && machine.load.length ? machine.load[0].toFixed(2) : undefined]];
}

// The details stay open, and keep the focus, while their texts change.
function drawLine(run, cell) {
  if (run.output_tail && !cell.tail) {
    cell.first = element("code");
    cell.tail = element("pre", { tabIndex: 0, role: "region", "aria-label": "The end of the output" });
    cell.replaceChildren(element("details", {}, element("summary", {}, cell.first), cell.tail));
  }
  if (!cell.tail) return [element("code", {}, run.first_line)];
  setText(cell.first, run.first_line || "Output");
  const atEnd = cell.tail.scrollTop + cell.tail.clientHeight >= cell.tail.scrollHeight - 4;
  setText(cell.tail, run.output_tail);
  if (atEnd) cell.tail.scrollTop = cell.tail.scrollHeight;
  return undefined;
}

const kindOf = (run) => [element("div", {}, run.tool || run.kind), run.tool && run.kind !== "call" ? element("div", { class: "dim" }, run.kind) : null,
  run.client ? element("div", { class: "dim" }, run.client) : null, sandboxLink(run.sandbox_id)];

export const now = {
  title: "Now",
  count: () => rowsOf("runs").length,
  wanted: "",
  build() {
    this.tiles = element("ul", { class: "tiles", "aria-label": state.session.everything ? "The machine" : "Your share" });
    this.table = new Table("What runs now", [
      { name: "State", sign: (run) => run.state, draw: (run) => badge(run.state, run.state === "waiting" ? "warn" : "good") },
      ...nodeColumn(),
      ...ownerColumn(),
      { name: "Tool", kind: "tool", sign: (run) => run.tool + run.kind + run.client + run.sandbox_id, draw: kindOf },
      { name: "First line and output", kind: "line", sign: (run) => run.first_line + run.output_tail, draw: drawLine },
      { name: "Memory", kind: "number", text: (run) => bytes(run.memory_bytes) },
      { name: "CPU", kind: "number", text: (run) => seconds(run.cpu_seconds) },
      { name: "Time", kind: "number", text: (run) => seconds(Math.max(0, Date.now() / 1000 - run.started)) },
      { name: "End", kind: "acts", sign: (run) => run.id, draw: (run) => this.endButton(run) },
    ], "Nothing runs now.");
    return [this.tiles, element("div", { class: "tools" }, search("Filter what runs", (text) => { this.wanted = text; this.update(); }, this.wanted)), this.table.node,
      note("Memory and CPU are those of the whole sandbox; runs outside of sandboxes have none here.")];
  },
  endButton(run) {
    const what = `${run.tool || run.kind}${run.first_line ? ` “${run.first_line.slice(0, 60)}”` : ""}`;
    return button("End", () => confirmed(`End ${what} of ${owner(run.principal)}?`, "End it", () => ask("DELETE", placeOf("runs", run))),
      { class: "danger", "aria-label": `End ${what}`, disabled: !may("run") });
  },
  update() {
    const tiles = tilesOfMachine().filter(([, value]) => value !== undefined);
    while (this.tiles.children.length > tiles.length) this.tiles.lastChild.remove();
    while (this.tiles.children.length < tiles.length) this.tiles.append(element("li", {}, element("b"), element("span")));
    tiles.forEach(([name, value], index) => {
      setText(this.tiles.children[index].firstChild, value);
      setText(this.tiles.children[index].lastChild, name);
    });
    this.table.show(rowsOf("runs").filter((run) => holds(run, this.wanted)), keyOf);
  },
  tick() { this.update(); },
};

// ---------------------------------------------------------------- lists that grow
// While the reader holds such a list still, new entries wait.
function growing(pane) {
  return {
    wanted: "",
    held: null,
    count: () => pane.list().length,
    title: pane.title,
    build() {
      this.held = null;
      this.about = element("span", { class: "dim" });
      this.hold = button("Hold still", () => { this.held = this.held ? null : [...pane.list()]; this.update(); }, { "aria-pressed": "false" });
      this.table = pane.table();
      return [element("div", { class: "tools" }, search(pane.filter, (text) => { this.wanted = text; this.update(); }, this.wanted), this.hold, this.about), this.table.node];
    },
    update() {
      const rows = this.held || pane.list();
      const fresh = this.held ? pane.list().findIndex((row) => row.key === (this.held[0] || {}).key) : 0;
      this.hold.setAttribute("aria-pressed", String(Boolean(this.held)));
      setText(this.about, this.held ? `held; ${fresh < 0 ? `more than ${pane.list().length}` : fresh} new since` : pane.about());
      this.table.show(rows.filter((row) => holds(row, this.wanted)), (row) => row.key);
    },
    tick() { if (!this.held) setText(this.about, pane.about()); },
  };
}

const setting = (row) => row.setting ? element("div", { class: "setting" }, "Setting: ", element("code", {}, row.setting), " ", copyButton(row.setting, `Copy ${row.setting}`)) : null;

const why = (end) => {
  const denied = end.denied || [];
  return [end.sentence ? element("div", {}, end.sentence) : null,
    denied.length ? element("ul", {}, denied.map((each) => element("li", {}, each))) : null,
    setting(end)];
};

function causes() {
  const by = new Map();
  for (const end of newestOf("ends")) by.set(end.cause || "refused", (by.get(end.cause || "refused") || 0) + 1);
  const most = [...by].sort((one, other) => other[1] - one[1]).map(([cause, number]) => `${number} ${cause}`).join(", ");
  const rate = state.rate ? `${state.rate.toFixed(state.rate < 10 ? 1 : 0)} a second` : "";
  const dropped = state.dropped ? `${count(state.dropped, "end")} came too fast to be shown` : "";
  return [rate, most, dropped].filter(Boolean).join("; ");
}

export const failed = growing({
  title: "Why it failed",
  filter: "Filter by cause, tool, code, setting",
  list: () => newestOf("ends"),
  about: causes,
  table: () => new Table("Runs that did not simply exit, newest first", [
    { name: "At", kind: "at", text: (end) => clock(end.at) },
    ...nodeColumn(),
    ...ownerColumn(),
    { name: "Cause", sign: (end) => end.cause, draw: (end) => badge(end.cause || "refused", end.cause === "exited" ? "warn" : "bad") },
    { name: "Tool", kind: "tool", sign: (end) => end.key, draw: (end) => [element("div", {}, end.tool), sandboxLink(end.sandbox_id)] },
    { name: "First line", kind: "line", sign: (end) => end.key, draw: (end) => element("code", {}, end.first_line || "") },
    { name: "Why, and what would allow it", kind: "line", sign: (end) => end.key, draw: why },
  ], "Every run so far ended by itself, and nothing was denied."),
});

// Connections that were not refused and did not come about.
const failures = new Set(["unresolved", "unreachable", "timeout", "busy", "bytes", "bad response"]);

export const network = growing({
  title: "Network",
  filter: "Filter by host, reason",
  list: () => newestOf("egress"),
  about: () => {
    const rows = newestOf("egress"), refused = rows.filter((row) => !row.allowed).length;
    return rows.length ? `${rows.length - refused} allowed, ${refused} refused; the last ${ago(rows[0].at)}` : "";
  },
  table: () => new Table("Connections to the outside, newest first", [
    { name: "At", kind: "at", text: (row) => clock(row.at) },
    ...nodeColumn(),
    ...ownerColumn(),
    { name: "Decision", sign: (row) => String(row.allowed), draw: (row) => row.allowed ? badge("allowed", "good") : failures.has(row.reason) ? badge("failed", "warn") : badge("refused", "bad") },
    { name: "To", kind: "line", sign: (row) => row.key, draw: (row) => element("code", {}, `${row.host}:${row.port}`) },
    { name: "Rule, and what would allow it", kind: "line", sign: (row) => row.key, draw: (row) => [element("div", {}, row.reason), setting(row)] },
  ], "Nobody has asked for a connection to the outside."),
});
