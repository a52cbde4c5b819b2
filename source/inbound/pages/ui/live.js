// The panes that the stream fills: what runs, what failed, connections to the outside.

import { ago, badge, button, bytes, clock, copyButton, count, element, inPath, note, owner, seconds, setText } from "./elements.js";
import { adviceFor, hostIn } from "./advice.js";
import { columnsOf } from "./columns.js";
import { confirmed } from "./dialogs.js";
import { keyOf, machine as machineShown, newestOf, placeOf, rowsOf, sandboxLink } from "./nodes.js";
import { ask, may, state } from "./server.js";
import { Table, holds, search } from "./table.js";

// ---------------------------------------------------------------- what runs
function figuresOfMachine() {
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

/// The figures of the machine, or of the caller's share of it: {node, update()}.
export function tiles() {
  const node = element("ul", { class: "tiles", "aria-label": state.session.everything ? "The machine" : "Your share" });
  const update = () => {
    const figures = figuresOfMachine().filter(([, value]) => value !== undefined);
    while (node.children.length > figures.length) node.lastChild.remove();
    while (node.children.length < figures.length) node.append(element("li", {}, element("b"), element("span")));
    figures.forEach(([name, value], index) => {
      setText(node.children[index].firstChild, value);
      setText(node.children[index].lastChild, name);
    });
  };
  return { node, update };
}

const toolOf = (run) => [element("div", {}, run.tool || run.kind), run.client ? element("div", { class: "dim" }, run.client) : null, sandboxLink(run.sandbox_id)];
const whatOf = (run) => `${run.tool || run.kind}${run.first_line ? ` “${run.first_line.slice(0, 60)}”` : ""}`;

const end = (run) => button("End", () => confirmed(`End ${whatOf(run)} of ${owner(run.principal)}?`, "End it", () => ask("DELETE", placeOf("runs", run))),
  { class: "danger", "aria-label": `End ${whatOf(run)}`, disabled: !may("run") });

const choiceOfRuns = () => may("run") ? { of: whatOf, word: "End", question: (names) => `End ${names.join(", ")}?`, work: (run) => ask("DELETE", placeOf("runs", run)) } : null;

export const now = {
  title: "Now",
  count: () => rowsOf("runs").length,
  wanted: "",
  build() {
    this.tiles = tiles();
    this.table = new Table("What runs now", () => columnsOf("runs", { leave: ["id"], draw: {
      kind: { value: (run) => run.kind },
      tool: { kind: "tool", sign: (run) => run.tool + run.kind + run.client + run.sandbox_id, draw: toolOf },
      seconds: { value: (run) => -run.started, text: (run) => seconds(Math.max(0, Date.now() / 1000 - run.started)) },
      first_line: { name: "First line and output", kind: "line", sign: (run) => run.first_line + run.output_tail, draw: drawLine },
    }, last: [{ name: "CPU", kind: "number", value: (run) => run.cpu_seconds, text: (run) => seconds(run.cpu_seconds) }, { name: "End", kind: "acts", sign: (run) => run.id, draw: end }] }), "Nothing runs now.", choiceOfRuns());
    return [this.tiles.node, element("div", { class: "tools" }, search("Filter what runs", (text) => { this.wanted = text; this.update(); }, this.wanted)), this.table.node,
      note("Memory and CPU are those of the whole sandbox.")];
  },
  update() {
    this.tiles.update();
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

// What was denied may be allowed where the sandbox's network says so.
const denied = (end, text) => element("li", {}, text, " ", hostIn(text) && end.sandbox_id ? element("a", { class: "button", href: `#sandboxes/${inPath(end.sandbox_id)}/network` }, `Allow ${hostIn(text)} …`) : null);

const why = (end) => [end.sentence ? element("div", {}, end.sentence) : null,
  (end.denied || []).length ? element("ul", {}, end.denied.map((each) => denied(end, each))) : null,
  end.last_lines ? element("details", {}, element("summary", {}, element("code", {}, end.last_lines.split("\n").pop().slice(0, 200))), element("pre", { tabIndex: 0 }, end.last_lines)) : null,
  (end.denied || []).some(hostIn) ? null : adviceFor(end), setting(end)];

const badgeOf = (end) => badge(end.exit_code ? `exit ${end.exit_code}` : end.cause || "refused", end.cause === "exited" && !end.exit_code ? "warn" : "bad");

function causes() {
  const by = new Map();
  for (const end of newestOf("ends")) {
    const kind = end.exit_code ? `exit ${end.exit_code}` : end.cause || "refused";
    by.set(kind, (by.get(kind) || 0) + 1);
  }
  const most = [...by].sort((one, other) => other[1] - one[1]).map(([cause, number]) => `${number} ${cause}`).join(", ");
  const rate = state.rate ? `${state.rate.toFixed(state.rate < 10 ? 1 : 0)} a second` : "";
  const dropped = state.dropped ? `${count(state.dropped, "end")} came too fast to be shown` : "";
  return [rate, most, dropped].filter(Boolean).join("; ");
}

export const failed = growing({
  title: "Failures",
  filter: "Filter by cause, tool, code, setting",
  list: () => newestOf("ends"),
  about: causes,
  table: () => new Table("Calls that failed, newest first", () => columnsOf("ends", { leave: ["setting", "exit_code"], draw: {
    at: { name: "At", value: (end) => end.at, text: (end) => clock(end.at) },
    tool: { kind: "tool", sign: (end) => end.key, draw: (end) => [element("div", {}, end.tool), sandboxLink(end.sandbox_id), element("code", { class: "first" }, end.first_line || "")] },
    cause: { sign: (end) => end.cause + end.exit_code, draw: badgeOf },
    sentence: { name: "Why, and what would help", sign: (end) => end.key, draw: why },
  } }), "No call has failed so far."),
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
  table: () => new Table("Connections to the outside, newest first", () => columnsOf("decisions", { leave: ["port", "setting"], draw: {
    at: { name: "At", value: (row) => row.at, text: (row) => clock(row.at) },
    host: { name: "To", kind: "line", sign: (row) => row.key, draw: (row) => element("code", {}, `${row.host}:${row.port}`) },
    allowed: { name: "Decision", sign: (row) => String(row.allowed), draw: (row) => row.allowed ? badge("allowed", "good") : failures.has(row.reason) ? badge("failed", "warn") : badge("refused", "bad") },
    reason: { name: "Rule, and what would allow it", kind: "line", sign: (row) => row.key, draw: (row) => [element("div", {}, row.reason), setting(row)] },
  } }), "Nobody has asked for a connection to the outside."),
});
