// The list of sandboxes, and the page of one: its files, terminal, ports and snapshots.

import { ago, badge, button, bytes, clock, copyButton, count, element, empty, inPath, note, owner } from "./elements.js";
import { confirmed, form } from "./dialogs.js";
import { filesOf, viewOf } from "./files.js";
import { ownerColumn } from "./live.js";
import { networkOf, networkText } from "./network.js";
import { fetchList, keyOf, machine, nodeColumn, placeOf } from "./nodes.js";
import { ask, attempt, may, state, tool } from "./server.js";
import { Table, search } from "./table.js";

const pageSize = 100;
const withoutEmpty = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value));
const goTo = (...parts) => { location.hash = ["sandboxes", ...parts.map(inPath)].join("/"); };

function livesIn(box) {
  return [box.kernels ? count(box.kernels, "kernel") : "", box.shells ? count(box.shells, "shell") : "", ...(box.ports || []).map((port) => `port ${port}`)].filter(Boolean).join(", ");
}

const remove = (box, after) => confirmed(`Delete the sandbox ${box.name} with all its files, packages and snapshots?`, "Delete it", () => ask("DELETE", placeOf("sandboxes", box)), after);

const create = () => form("New sandbox", "Create", [{ name: "name", label: "Name", hint: "May be left empty" }, { name: "image", label: "Image", hint: "Empty: the programs of this machine" }],
  async (values) => { const box = await tool("create_sandbox", withoutEmpty(values)); return () => goTo(box.sandbox_id); });

// ---------------------------------------------------------------- the list
const list = {
  match: "",
  sort: "used",
  pages: [""],
  build() {
    if (this.node !== state.node) [this.node, this.pages] = [state.node, [""]];
    this.summary = element("span", { class: "dim", role: "status" });
    this.back = button("Previous", () => { this.pages.pop(); attempt(() => this.load()); });
    this.next = button("Next", () => { this.pages.push(this.after); attempt(() => this.load()); });
    this.table = new Table("Sandboxes", [
      { name: "Name", kind: "name", sign: (box) => box.name + box.id, draw: (box) => element("a", { href: `#sandboxes/${inPath(box.id)}` }, element("span", {}, box.name || box.id), element("code", { class: "dim" }, box.id)) },
      ...nodeColumn(),
      ...ownerColumn(),
      { name: "State", sign: (box) => box.state, draw: (box) => badge(box.state, box.state === "running" ? "good" : "") },
      { name: "Image", kind: "name", text: (box) => box.image },
      { name: "Class", text: (box) => box.class },
      { name: "Network", text: networkText },
      { name: "Disk", kind: "number", text: (box) => bytes(box.disk_bytes) },
      { name: "Memory", kind: "number", text: (box) => bytes(box.memory_bytes) },
      { name: "In it", text: livesIn },
      { name: "Used", kind: "at", text: (box) => ago(box.last_used) },
      { name: "Delete", kind: "acts", sign: (box) => box.id, draw: (box) => button("Delete", () => remove(box, () => this.load()), { class: "danger", "aria-label": `Delete ${box.name}`, disabled: !may("sandboxes") }) },
    ], "There is no sandbox.");
    const find = search("Name, id or principal", (text) => { this.match = text; this.pages = [""]; attempt(() => this.load()); }, this.match);
    const sorts = { used: "Latest used first", disk: "Largest first", id: "By id" };
    const sort = element("select", { "aria-label": "Order", onchange: (event) => { this.sort = event.target.value; this.pages = [""]; attempt(() => this.load()); } },
      Object.entries(sorts).map(([value, text]) => element("option", { value, selected: value === this.sort }, text)));
    return [element("div", { class: "tools" }, find, sort, button("New sandbox", create, { disabled: !may("sandboxes") }), this.back, this.next, this.summary), this.table.node];
  },
  async load() {
    const page = await fetchList("sandboxes", { limit: pageSize, after: this.pages[this.pages.length - 1], match: this.match, sort: this.sort });
    this.after = page.next;
    this.back.disabled = this.pages.length < 2;
    const first = (this.pages.length - 1) * pageSize + 1, last = first + page.sandboxes.length - 1;
    this.next.disabled = !page.next || last >= page.total;
    this.summary.textContent = page.sandboxes.length ? `${first.toLocaleString("en")}–${last.toLocaleString("en")} of ${page.total.toLocaleString("en")}` : "";
    this.table.show(page.sandboxes, keyOf);
  },
};

// ---------------------------------------------------------------- parts of one
function portsOf(box, place) {
  const row = ({ port, url, listening, expires }, load) => element("li", {}, element("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, `Port ${port}`),
    badge(listening ? "a program listens" : "nothing listens", listening ? "good" : "warn"), element("span", { class: "dim" }, `until ${clock(expires)}`), copyButton(url, `Copy the link of port ${port}`, "Copy the link"),
    button("Withdraw", () => confirmed(`Withdraw the link to port ${port}?`, "Withdraw it", () => tool("unexpose_port", { sandbox_id: box.id, port }), load), { class: "danger", "aria-label": `Withdraw port ${port}` }));
  const load = async () => {
    const { exposed, listening } = await tool("list_exposed_ports", { sandbox_id: box.id });
    const further = listening.filter((port) => !exposed.some((shown) => shown.port === port));
    const show = () => form("Show a port", "Show it", [{ name: "port", label: "Port", hint: "Whoever has the link reaches what listens there", type: "number", required: true, value: further[0] }],
      async ({ port }) => { await tool("expose_port", { sandbox_id: box.id, port: Number(port) }); await load(); });
    place.replaceChildren(element("div", { class: "tools" }, button("Show a port", show, { disabled: !may("run") }), further.length ? element("span", { class: "dim" }, `Programs listen at ${further.join(", ")}, too.`) : null),
      exposed.length ? element("ul", { class: "list" }, exposed.map((port) => row(port, load))) : empty("No port is shown."));
  };
  return { load };
}

function snapshotsOf(box, place) {
  const act = (values) => tool("snapshot_sandbox", { sandbox_id: box.id, ...values });
  const row = (each, load) => element("li", {}, element("b", {}, each.name), " ", element("span", { class: "dim" }, `${new Date(each.created).toLocaleString()}, ${bytes(each.disk_bytes)}`), " ",
    button("Restore", () => confirmed(`Put ${box.name} back to ${each.name}? All that runs in it ends, and what was changed since is lost.`, "Restore it",
      () => tool("restore_sandbox", { sandbox_id: box.id, snapshot: each.snapshot_id }), load), { "aria-label": `Restore ${each.name}` }), " ",
    button("Delete", () => confirmed(`Delete the snapshot ${each.name}?`, "Delete it", () => act({ action: "delete", name: each.snapshot_id }), load), { class: "danger", "aria-label": `Delete ${each.name}` }));
  const load = async () => {
    const { snapshots } = await act({ action: "list" });
    place.replaceChildren(element("div", { class: "tools" }, button("Take a snapshot", () => form("Take a snapshot", "Take it", [{ name: "name", label: "Name", hint: "May be left empty" }],
      async (values) => { await act(withoutEmpty(values)); await load(); }), { disabled: !may("sandboxes") })),
    snapshots.length ? element("ul", { class: "list" }, snapshots.map((each) => row(each, load))) : empty("There is no snapshot."));
  };
  return { load };
}

// By the word in the address; a file is below the tab of the files. The terminal is large, and comes when it is wanted.
const parts = { files: ["Files", filesOf], terminal: ["Terminal", async (...words) => (await import("./terminal.js")).terminalOf(...words)], ports: ["Ports", portsOf], network: ["Network", networkOf], snapshots: ["Snapshots", snapshotsOf], file: ["", viewOf] };

// ---------------------------------------------------------------- one sandbox
const one = {
  build(id, part = "files", ...rest) {
    this.id = id;
    this.place = element("div", { class: "part" });
    this.head = element("div");
    this.name = Object.hasOwn(parts, part) ? part : "files";
    this.rest = rest;
    return [element("p", { class: "back" }, element("a", { href: "#sandboxes" }, "← All sandboxes")), this.head, this.place];
  },
  tabs() {
    return element("nav", { class: "tabs", "aria-label": "Parts of the sandbox" }, Object.entries(parts).filter(([, [title]]) => title).map(([name, [title]]) =>
      element("a", { href: `#sandboxes/${inPath(this.id)}/${name}`, "aria-current": name === this.name.replace(/^file$/, "files") ? "page" : null }, title)));
  },
  facts(box) {
    const fact = (name, value) => value ? element("div", {}, element("dt", {}, name), element("dd", {}, value)) : null;
    return [fact("Id", element("code", {}, box.id)), fact("Server", box.node), fact("Principal", state.session.named ? owner(box.principal) : ""), fact("State", box.state), fact("Image", box.image), fact("Class", box.class), fact("Network", networkText(box)),
      fact("Disk", bytes(box.disk_bytes)), fact("Memory", bytes(box.memory_bytes)), fact("In it", livesIn(box)), fact("Used", ago(box.last_used))].filter(Boolean);
  },
  acts(box, own) {
    const fork = () => form(`Copy ${box.name}`, "Copy it", [{ name: "name", label: "Name of the copy", hint: "May be left empty" }],
      async ({ name }) => { const copied = await tool("fork_sandbox", { sandbox_id: box.id, ...withoutEmpty({ name }) }); return () => goTo(copied.sandbox_id); });
    return element("div", { class: "tools" }, own ? button("Fork", fork, { disabled: !may("sandboxes") }) : null,
      button("Delete", () => remove(box, () => { location.hash = "sandboxes"; }), { class: "danger", disabled: !may("sandboxes") }));
  },
  // The part is begun once; later the facts alone are new.
  async load() {
    const id = this.id;
    const answer = await fetchList("sandboxes", { match: id }, "*");
    const box = answer.sandboxes.find((each) => each.id === id);
    if (id !== this.id || !this.head.isConnected) return;
    if (!box) { this.head.replaceChildren(empty((answer.unreachable_nodes || []).length ? "This sandbox is gone, or at a server that does not answer." : "This sandbox is gone, or belongs to somebody else.")); this.place.replaceChildren(); return; }
    if (this.about) {
      this.about.replaceChildren(...this.facts(box));
      if (this.part && this.part.update) this.part.update(box);
      return;
    }
    this.about = element("dl", { class: "facts" }, this.facts(box));
    const own = box.principal === state.session.principal;
    this.head.replaceChildren(element("h3", { class: "title" }, box.name || box.id), this.about, this.acts(box, own), own ? this.tabs() : note(`Its files and programs are for ${owner(box.principal)} alone.`));
    if (!own) return;
    const { about } = this;
    const part = await attempt(() => parts[this.name][1](box, this.place, this.rest));
    if (!part || this.about !== about) return;
    this.part = part;
    await attempt(() => part.load());
  },
  leave() {
    this.about = null;
    if (this.part && this.part.leave) this.part.leave();
    this.part = null;
  },
};

export const sandboxes = {
  title: "Sandboxes",
  // As many as the list has; the quota is without default ones.
  count: () => {
    const { sandboxes = 0, default_sandboxes = 0 } = state.usage.principals[0] || {};
    return state.session.everything ? machine().sandboxes : sandboxes + default_sandboxes;
  },
  build(...rest) {
    this.shown = rest.length ? one : list;
    return this.shown.build(...rest);
  },
  load() { return this.shown.load(); },
  leave() { if (this.shown.leave) this.shown.leave(); },
};
