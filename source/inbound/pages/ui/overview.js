// The first pane: figures, curves of the last hour, the latest sandboxes and failures, first steps, and how to connect.

import { badge, button, bytes, clock, element, note } from "./elements.js";
import { connecting } from "./connect.js";
import { curve } from "./charts.js";
import { tiles } from "./live.js";
import { fetchList, knowNames, newestOf, sandboxLink } from "./nodes.js";
import { create } from "./one_sandbox.js";
import { attempt, may, state } from "./server.js";
import { Table } from "./table.js";

const hour = 3600, mostRows = 5, between = 10;   // seconds between samples
const whole = (number) => Math.round(number).toLocaleString("en");
const minutely = (read) => (sample) => (60 / between) * read(sample);

function curves() {
  const all = [
    curve("Runs", [{ name: "running", read: ({ runs }) => runs }, { name: "waiting", read: ({ runs_waiting: waiting }) => waiting }], whole),
    curve("Calls a minute", [{ name: "all", read: minutely(({ calls }) => calls) }, { name: "failed", read: minutely(({ failures }) => failures) }], whole),
    curve("CPU of the machine", [{ name: "CPU", read: ({ cpu }) => cpu }], (share) => `${Math.round(100 * share)} %`, 1),
    curve("Memory of server and sandboxes", [{ name: "memory", read: (sample) => sample.memory_bytes }], bytes),
  ];
  const node = element("ul", { class: "curves", "aria-label": "The last hour" }, all.map((each) => each.node));
  const update = (samples) => { const to = Date.now() / 1000; for (const each of all) each.update(samples.filter(({ at }) => at > to - hour), to - hour, to); };
  return { node, update };
}

function firstSteps() {
  const step = (...nodes) => element("li", {}, nodes);
  return element("section", { class: "steps", "aria-label": "First steps" }, element("h3", {}, "First steps"), element("ol", {},
    step(button("Create a sandbox", create, { class: "main", disabled: !may("sandboxes") }), " It has files, a terminal and a Python kernel of its own."),
    step("Open its part ", element("b", {}, "Code"), " and run a line, or upload files to it."),
    step("Connect an agent with the lines below. What it does appears under ", element("a", { href: "#now" }, "Now"), ".")));
}

export const overview = {
  title: "Overview",
  build() {
    this.tiles = tiles();
    this.curves = state.session.everything ? curves() : null;
    this.steps = element("div");
    this.boxes = new Table("Sandboxes, latest used first", [
      { name: "Name", kind: "name", sign: (box) => box.id, draw: (box) => sandboxLink(box.id) },
      { name: "State", sign: (box) => box.state, draw: (box) => badge(box.state, box.state === "running" ? "good" : "") },
      { name: "Used", kind: "at", text: (box) => clock(box.last_used) },
    ], "There is no sandbox yet.");
    this.failures = new Table("Latest failures", [
      { name: "At", kind: "at", text: (end) => clock(end.at) },
      { name: "End", sign: (end) => end.key, draw: (end) => badge(end.exit_code ? `exit ${end.exit_code}` : end.cause, "bad") },
      { name: "What", kind: "line", sign: (end) => end.key, draw: (end) => [element("code", {}, end.first_line || end.tool), " ", sandboxLink(end.sandbox_id)] },
    ], "No call has failed so far.");
    this.connect = element("div");
    this.ready = false;
    return [this.steps, this.tiles.node, this.curves && this.curves.node, element("div", { class: "columns" },
      element("section", {}, element("h3", {}, "Sandboxes"), this.boxes.node, element("p", {}, element("a", { href: "#sandboxes" }, "All sandboxes"))),
      element("section", {}, element("h3", {}, "Failures"), this.failures.node, element("p", {}, element("a", { href: "#failed" }, "All failures")))),
    element("h3", {}, "Connect a client"), this.connect, this.curves ? null : note(`Your credentials have ${state.session.scopes.join(", ")}.`)];
  },
  async load() {
    const [{ sandboxes }, trends] = await Promise.all([fetchList("sandboxes", { limit: mostRows, sort: "used" }), this.curves ? fetchList("trends", {}, state.node || state.session.node) : null]);
    knowNames(sandboxes);
    this.boxes.show(sandboxes, (box) => box.id);
    if (trends) this.curves.update(trends.trends);
    const calls = state.usage.principals.reduce((sum, { calls: own }) => sum + own, 0);
    if (!sandboxes.length && !calls) { if (!this.steps.firstChild) this.steps.replaceChildren(firstSteps()); } else this.steps.replaceChildren();
    if (this.ready) return;
    this.ready = true;
    const lines = await attempt(connecting);
    if (lines) this.connect.replaceChildren(...lines);
  },
  update() {
    this.tiles.update();
    this.failures.show(newestOf("ends").slice(0, mostRows), (end) => end.key);
  },
};
