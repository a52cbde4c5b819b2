// Principals: use against quota, API keys, quotas of single ones.

import { ago, badge, button, bytes, copyButton, element, inPath, note, owner, seconds, time } from "./elements.js";
import { columnsOf } from "./columns.js";
import { closeDialog, confirmed, form, openDialog } from "./dialogs.js";
import { principalsShown } from "./nodes.js";
import { connecting } from "./connect.js";
import { ask, attempt, may, state } from "./server.js";
import { Table } from "./table.js";

const scopes = { read: "look at sandboxes and read files", files: "write and delete files", run: "run code and commands", sandboxes: "make and delete sandboxes", packages: "install packages", web: "read web pages, and set networks of sandboxes",
  admin: "administer this server, for everybody" };
const ordinary = Object.keys(scopes).filter((name) => name !== "admin");
const mebibyte = 1024 * 1024;

// The name of a limit, the member of a row that counts what is used of it, and how the two are written. docs/rest.md has them.
const counted = { runs: "runs", jobs: "jobs", tasks: "tasks", kernels: "kernels", shells: "shells", sandboxes: "sandboxes", sessions: "sessions", disk: "disk_bytes" };
const limits = { calls: "calls of tools a minute", ...Object.fromEntries(Object.keys(counted).map((name) => [name, name])), disk: "MiB of all sandboxes", workspace: "MiB of the default sandbox" };
const textOf = (name) => name === "disk" || name === "workspace" ? bytes : (number) => number.toLocaleString("en");

function use(number, most, name) {
  const text = textOf(name);
  if (!most) return element("span", {}, number === undefined || number === null ? "" : text(number));
  const meter = element("meter", { min: 0, max: most, value: Math.min(number || 0, most), high: most * 0.9, optimum: 0, "aria-label": `${name}: ${text(number || 0)} of ${text(most)}` });
  return [element("span", {}, `${text(number || 0)} of ${text(most)}`), meter];
}

function useColumn(name) {
  const read = (row) => [row[counted[name]], (row.limits || {})[name]];
  return [counted[name], { name: name[0].toUpperCase() + name.slice(1), kind: "use", sign: (row) => read(row).join(), draw: (row) => use(...read(row), name) }];
}

// A minute's calls come back evenly; the server says how many may begin now.
const calls = (row) => {
  const most = (row.limits || {}).calls;
  return [element("span", {}, `${row.calls.toLocaleString("en")}${row.calls_failed ? `, ${row.calls_failed.toLocaleString("en")} failed` : ""}`),
    most ? element("div", { class: "dim" }, `${Math.floor(row.calls_left ?? most)} of ${most} a minute left`) : null];
};

function newKey() {
  const fields = [{ name: "principal", label: "Principal", hint: "What is made with the key belongs to this name", required: true }, { name: "scopes", label: "It may", type: "checks", options: scopes, value: ordinary },
    { name: "lasts", label: "Lasts", hint: "As 12h, 90d, 1y; empty: until it is revoked" }, { name: "networks", label: "From", hint: "Addresses and networks, as 10.0.0.0/8; empty: anywhere" }, { name: "note", label: "Note" }];
  form("New key", "Make the key", fields, async ({ scopes: chosen, ...values }) => {
    const { key } = await ask("POST", "admin/keys", { ...values, scopes: chosen.map((name) => `mcp:${name}`).join(" ") });
    await principals.load();
    const lines = await attempt(() => connecting(key)) || [];
    return () => openDialog("The key is shown this once", element("pre", { class: "secret" }, key), element("div", { class: "tools" }, copyButton(key, "Copy the key"), button("Close", closeDialog)), element("h3", {}, "Connect a client with it"), ...lines);
  });
}

// Limits that are left empty are everybody's; the server takes back all of a principal, or none.
async function setQuotas(principal) {
  const own = Object.fromEntries((await ask("GET", "admin/quotas")).quotas.filter((each) => each.principal === principal).map((each) => [each.name, each.value]));
  const now = ((state.usage.principals.find((row) => row.principal === principal) || {}).limits) || {};
  const shown = (name) => now[name] === undefined ? "" : name === "disk" || name === "workspace" ? Math.round(now[name] / mebibyte) : now[name];
  const fields = Object.entries(limits).map(([name, label]) => ({ name, label, type: "number", value: own[name], hint: own[name] === undefined ? `Now ${shown(name) || "any number"}` : undefined }));
  form(`Quotas of ${principal}`, "Set them", fields, async (values) => {
    const words = Object.entries(values).filter(([, value]) => value !== "").map(([name, value]) => `${name}=${value}`);
    if (Object.keys(own).some((name) => values[name] === "")) await ask("PUT", `admin/quotas/${inPath(principal)}`, { limits: [] });
    if (words.length) await ask("PUT", `admin/quotas/${inPath(principal)}`, { limits: words });
    await principals.load();
  });
}

const quotaOfNew = () => form("Quotas of a principal", "Go on", [{ name: "principal", label: "Principal", required: true }], async ({ principal }) => () => setQuotas(principal));

function keysTable() {
  return new Table("API keys", [
    { name: "Key", kind: "name", sign: (key) => key.id, draw: (key) => element("code", {}, key.id) },
    { name: "Principal", kind: "name", text: (key) => key.principal },
    { name: "Scopes", kind: "line", text: (key) => key.scopes.replaceAll("mcp:", "") },
    { name: "From", kind: "name", text: (key) => key.networks || "anywhere" },
    { name: "Expires", kind: "at", text: (key) => key.expires ? time(key.expires).toLocaleString("en-GB") : "never" },
    { name: "Used", kind: "at", text: (key) => key.last_used ? ago(key.last_used) : "never" },
    { name: "Note", kind: "line", text: (key) => key.note },
    { name: "Revoke", kind: "acts", sign: (key) => String(key.revoked), draw: (key) => key.revoked ? badge("revoked") : button("Revoke",
      () => confirmed(`Revoke the key ${key.id} of ${key.principal}? Programs that use it are refused at once.`, "Revoke it", () => ask("DELETE", `admin/keys/${inPath(key.id)}`), () => principals.load()),
      { class: "danger", "aria-label": `Revoke ${key.id} of ${key.principal}` }) },
  ], "There are no API keys.");
}

export const principals = {
  title: "Principals",
  count: () => state.session.everything ? new Set(principalsShown().map((row) => row.principal)).size : undefined,
  build() {
    const quota = { name: "Quotas", kind: "acts", sign: (row) => row.principal, draw: (row) => row.principal && (!row.node || row.node === state.session.node) ? button("Quotas", () => setQuotas(row.principal), { "aria-label": `Quotas of ${row.principal}` }) : null };
    this.table = new Table("Use of each principal", () => columnsOf("principals", { leave: ["principal", "calls_failed"], draw: {
      calls: { kind: "use", sign: (row) => [row.calls, row.calls_failed, Math.floor(row.calls_left), (row.limits || {}).calls].join(), draw: calls },
      ...Object.fromEntries(Object.keys(counted).map(useColumn)),
    }, first: [{ name: "Principal", kind: "name", value: (row) => row.principal, text: (row) => owner(row.principal) }], last: state.session.administers_keys ? [quota] : [] }), "Nobody has called yet.");
    this.table.node.classList.add("wide");
    this.keys = state.session.administers_keys ? keysTable() : null;
    const own = note(`Your credentials have ${state.session.scopes.join(", ")}.`);
    if (!this.keys) return [this.table.node, own];
    return [element("div", { class: "tools" }, button("Quotas of a principal", quotaOfNew)), this.table.node, element("h3", {}, "API keys"), element("div", { class: "tools" }, button("New key", newKey)), this.keys.node, may("admin") ? null : own];
  },
  async load() {
    this.update();
    if (this.keys) this.keys.show((await ask("GET", "admin/keys")).keys, (key) => key.id);
  },
  update() { this.table.show(principalsShown(), (row) => [row.node, row.principal].join(" ")); },
};
