// One sandbox: what it is, what can be done to it, and its parts.

import { ago, badge, button, bytes, count, element, empty, inPath, note, owner, say } from "./elements.js";
import { confirmed, form } from "./dialogs.js";
import { networkOf, networkText } from "./network.js";
import { fetchList, knowNames, placeOf } from "./nodes.js";
import { ask, attempt, may, state, tool } from "./server.js";

const withoutEmpty = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value));
const goTo = (...parts) => { location.hash = ["sandboxes", ...parts.map(inPath)].join("/"); };

/// What lives in a sandbox, in words.
export function livesIn(box) {
  return [box.kernels ? count(box.kernels, "kernel") : "", box.shells ? count(box.shells, "shell") : "", ...(box.ports || []).map((port) => `port ${port}`)].filter(Boolean).join(", ");
}

export const remove = (box, after) => confirmed(`Delete the sandbox ${box.name} with all its files, packages and snapshots?`, "Delete it", () => ask("DELETE", placeOf("sandboxes", box)), after);

export const create = () => form("New sandbox", "Create", [{ name: "name", label: "Name", hint: "May be left empty" }, { name: "image", label: "Image", hint: "Empty: the programs of this machine" }],
  async (values) => { const box = await tool("create_sandbox", withoutEmpty(values)); return () => goTo(box.sandbox_id); });

const fork = (box) => form(`Copy ${box.name}`, "Copy it", [{ name: "name", label: "Name of the copy", hint: "May be left empty" }],
  async ({ name }) => { const copied = await tool("fork_sandbox", { sandbox_id: box.id, ...withoutEmpty({ name }) }); return () => goTo(copied.sandbox_id); });

// By the word in the address; a file is below the tab of the files. Each comes when it is wanted first.
const parts = {
  files: ["Files", async (...words) => (await import("./files.js")).filesOf(...words)],
  terminal: ["Terminal", async (...words) => (await import("./terminal.js")).terminalOf(...words)],
  code: ["Code", async (...words) => (await import("./cell.js")).cellsOf(...words)],
  ports: ["Ports", async (...words) => (await import("./ports.js")).portsOf(...words)],
  history: ["History", async (...words) => (await import("./history.js")).historyOf(...words)],
  packages: ["Packages", async (...words) => (await import("./packages.js")).packagesOf(...words)],
  network: ["Network", networkOf],
  snapshots: ["Snapshots", async (...words) => (await import("./snapshots.js")).snapshotsOf(...words)],
  file: ["", async (...words) => (await import("./files.js")).viewOf(...words)],
};

export const one = {
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
    return [fact("State", badge(box.state, box.state === "running" ? "good" : "")), fact("Server", box.node), fact("Principal", state.session.named ? owner(box.principal) : ""), fact("Image", box.image), fact("Class", box.class), fact("Network", networkText(box)),
      fact("Disk", bytes(box.disk_bytes)), fact("Memory", bytes(box.memory_bytes)), fact("In it", livesIn(box)), fact("Used", ago(box.last_used)), fact("Id", element("code", {}, box.id))].filter(Boolean);
  },
  acts(box, own) {
    const resume = () => attempt(async () => { await tool("resume_sandbox", { sandbox_id: box.id }); say("Resumed"); await this.load(); });
    const restart = () => confirmed("Restart the kernel? Its variables are lost.", "Restart it", () => tool("restart_kernel", { sandbox_id: box.id }), () => this.load());
    const pause = () => confirmed(`Pause ${box.name}? Its programs end, and its kernels' variables are kept.`, "Pause it", () => tool("pause_sandbox", { sandbox_id: box.id }), () => this.load());
    return element("div", { class: "tools" }, ...(own ? [box.state === "running" ? button("Pause", pause, { disabled: !may("sandboxes") }) : button("Resume", resume, { disabled: !may("sandboxes") }),
      button("Restart the kernel", restart, { disabled: !may("run") || !box.kernels, hidden: !box.kernels }), button("Fork", () => fork(box), { disabled: !may("sandboxes") })] : []),
    button("Delete", () => remove(box, () => { location.hash = "sandboxes"; }), { class: "danger", disabled: !may("sandboxes") }));
  },
  // The part is begun once; later the facts alone are new, and the buttons where what they do has changed.
  async load() {
    const id = this.id;
    const answer = await fetchList("sandboxes", { match: id }, "*");
    const box = answer.sandboxes.find((each) => each.id === id);
    if (id !== this.id || !this.head.isConnected) return;
    if (!box) { this.head.replaceChildren(empty((answer.unreachable_nodes || []).length ? "This sandbox is gone, or at a server that does not answer." : "This sandbox is gone, or belongs to somebody else.")); this.place.replaceChildren(); return; }
    const own = box.principal === state.session.principal, sign = `${box.state} ${box.kernels > 0}`;
    if (this.about) {
      this.about.replaceChildren(...this.facts(box));
      if (this.actsSign !== sign) this.head.querySelector(".tools").replaceWith(this.acts(box, own));
      this.actsSign = sign;
      if (this.part && this.part.update) this.part.update(box);
      return;
    }
    knowNames([box]);
    this.actsSign = sign;
    this.about = element("dl", { class: "facts" }, this.facts(box));
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
