// The list of sandboxes.

import { button, bytes, element, inPath } from "./elements.js";
import { columnsOf } from "./columns.js";
import { networkText } from "./network.js";
import { fetchList, keyOf, knowNames, machine, placeOf } from "./nodes.js";
import { create, livesIn, one, remove } from "./one_sandbox.js";
import { ask, attempt, may, state } from "./server.js";
import { Table, search } from "./table.js";

const pageSize = 100;

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
    const choice = may("sandboxes") ? { of: (box) => box.name || box.id, word: "Delete", question: (names) => `Delete ${names.join(", ")} with all their files, packages and snapshots?`, work: (box) => ask("DELETE", placeOf("sandboxes", box)), after: () => this.load() } : null;
    this.table = new Table("Sandboxes", () => columnsOf("sandboxes", { leave: ["id", "name", "kernels", "shells", "ports"],
      draw: { last_used: { name: "Used" }, image: { kind: "name" } },
      first: [{ name: "Name", kind: "name", value: (box) => box.name || box.id, sign: (box) => box.name + box.id, draw: (box) => element("a", { href: `#sandboxes/${inPath(box.id)}` }, element("span", {}, box.name || box.id), element("code", { class: "dim" }, box.id)) }],
      last: [{ name: "Class", value: (box) => box.class, text: (box) => box.class }, { name: "Network", value: networkText, text: networkText }, { name: "Memory", kind: "number", value: (box) => box.memory_bytes ?? 0, text: (box) => bytes(box.memory_bytes) }, { name: "In it", text: livesIn },
        { name: "Delete", kind: "acts", sign: (box) => box.id, draw: (box) => button("Delete", () => remove(box, () => this.load()), { class: "danger", "aria-label": `Delete ${box.name}`, disabled: !may("sandboxes") }) }] }), "There is no sandbox.", choice);
    const find = search("Name, id or principal", (text) => { this.match = text; this.pages = [""]; attempt(() => this.load()); }, this.match);
    const sorts = { used: "Latest used first", disk: "Largest first", id: "By id" };
    const sort = element("select", { "aria-label": "Order", onchange: (event) => { this.sort = event.target.value; this.pages = [""]; attempt(() => this.load()); } },
      Object.entries(sorts).map(([value, text]) => element("option", { value, selected: value === this.sort }, text)));
    return [element("div", { class: "tools" }, find, sort, button("New sandbox", create, { disabled: !may("sandboxes") }), this.back, this.next, this.summary), this.table.node];
  },
  async load() {
    const page = await fetchList("sandboxes", { limit: pageSize, after: this.pages[this.pages.length - 1], match: this.match, sort: this.sort });
    this.after = page.next;
    knowNames(page.sandboxes);
    this.back.disabled = this.pages.length < 2;
    const first = (this.pages.length - 1) * pageSize + 1, last = first + page.sandboxes.length - 1;
    this.next.disabled = !page.next || last >= page.total;
    this.summary.textContent = page.sandboxes.length ? `${first.toLocaleString("en")}–${last.toLocaleString("en")} of ${page.total.toLocaleString("en")}` : "";
    this.table.show(page.sandboxes, keyOf);
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
