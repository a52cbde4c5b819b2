// The servers of a cluster: whose rows are shown, rows of the others, and the pane that compares them.

import { badge, byId, element, inPath, query, setText } from "./elements.js";
import { columnsOf } from "./columns.js";
import { ask, state } from "./server.js";
import { Table } from "./table.js";

const longestList = 200;

/// Only administrators hear of other servers.
export const inCluster = () => Boolean(state.session) && state.session.nodes.length > 1;
const isShown = (row) => !state.node || row.node === state.node;

/// A list of the servers that are shown, or of others that `node` names.
export function fetchList(name, values = {}, node = state.node || "*") {
  const wanted = query({ ...values, ...(inCluster() ? { node } : {}) });
  return ask("GET", `admin/${name}${wanted && "?"}${wanted}`);
}

/// The address at which a row is ended.
export const placeOf = (list, row) => `admin/${list}/${inPath(row.id)}${row.node ? `?node=${inPath(row.node)}` : ""}`;

export const keyOf = (row) => `${row.node || ""} ${row.id}`;
export const nodeColumn = () => inCluster() ? [{ name: "Server", kind: "node", value: (row) => row.node, text: (row) => row.node }] : [];

// ---------------------------------------------------------------- names of sandboxes
const mostNames = 1000, betweenNames = 5000;   // milliseconds
const names = new Map();
let namesLoaded = 0;

export function knowNames(boxes) {
  for (const { id, name } of boxes) names.set(id, name);
  for (const link of document.querySelectorAll("a[data-sandbox]")) if (names.get(link.dataset.sandbox)) setText(link, names.get(link.dataset.sandbox));
}

async function loadNames() {
  if (Date.now() - namesLoaded < betweenNames) return;
  namesLoaded = Date.now();
  try { knowNames((await fetchList("sandboxes", { limit: mostNames, sort: "used" }, "*")).sandboxes); } catch { /* the link has the id */ }
}

/// A link to a sandbox, by its name as soon as that is known.
export function sandboxLink(id) {
  if (!id) return null;
  if (!names.has(id)) loadNames();
  return element("a", { href: `#sandboxes/${inPath(id)}`, title: id, "data-sandbox": id }, names.get(id) || id);
}

/// A row that the stream has brought, which is this server's.
export const ownRow = (row) => inCluster() ? Object.assign(row, { node: state.session.node }) : row;

/// The rows of this server, from the stream, and of the others that are shown.
export const rowsOf = (name) => inCluster() ? [...state[name], ...state.others[name]].filter(isShown) : state[name];
export const newestOf = (name) => inCluster() ? rowsOf(name).sort((one, other) => other.at - one.at).slice(0, longestList) : state[name];

export const principalsShown = () => inCluster() ? state.principals.filter(isShown) : state.usage.principals;

const machines = () => ({ ...state.machines, [state.session.node]: state.usage.machine });

/// The figures of the machine, or the sums of those that are shown.
export function machine() {
  if (!inCluster()) return state.usage.machine;
  const shown = Object.entries(machines()).filter(([node]) => isShown({ node })).map(([, each]) => each);
  if (shown.length === 1) return shown[0];
  const sums = {};
  for (const each of shown) for (const [name, value] of Object.entries(each)) if (typeof value === "number") sums[name] = (sums[name] || 0) + value;
  return sums;
}

const fromOthers = (rows) => rows.filter((row) => row.node !== state.session.node);
const keyed = (rows) => rows.map((row) => Object.assign(row, { key: [row.node, row.at, row.tool || row.host, row.first_line || row.port].join(" ") }));

/// Asks this server for what the others have. Lists that grow are long, so they are asked for where they are shown.
export async function lookAround(growing) {
  const lists = growing ? ["ends", "egress"] : [];
  const [usage, { runs }, ...grown] = await Promise.all(["usage", "runs", ...lists].map((name) => ask("GET", `admin/${name}?node=*`)));
  if (!inCluster()) return;
  state.principals = usage.principals;
  state.machines = Object.fromEntries(usage.nodes.map((each) => [each.node, each.machine]));
  state.unreachable = usage.unreachable_nodes;
  state.others.runs = fromOthers(runs);
  if (growing) Object.assign(state.others, { ends: keyed(fromOthers(grown[0].ends)), egress: keyed(fromOthers(grown[1].decisions)) });
}

/// Offers the servers in the head of the page; `act` is called when another choice is made.
export function offerNodes(act) {
  const choice = byId("node");
  choice.hidden = !inCluster();
  const names = inCluster() ? ["", ...state.session.nodes] : [];
  if (names.join() === [...choice.options].map(({ value }) => value).join()) return;
  choice.replaceChildren(...names.map((name) => element("option", { value: name, selected: name === state.node }, name || "All servers")));
  choice.onchange = () => { state.node = choice.value; act(); };
}

// A server that answers is up, whatever the directory says.
function stateOf(member) {
  if (!state.unreachable.includes(member.name)) return member.state === "drains" ? "drains" : "up";
  return member.state === "gone" ? "gone" : "unreachable";
}

function pressure({ pressure: part }) {
  if (part === undefined) return null;
  const text = `${Math.round(100 * part)} %`;
  return [element("span", {}, text), element("meter", { min: 0, max: 1, value: Math.min(part, 1), high: 0.9, optimum: 0, "aria-label": `pressure: ${text}` })];
}

export const servers = {
  title: "Servers",
  count: () => state.session.nodes.length - state.unreachable.length,
  members: [],
  build() {
    this.table = new Table("The servers of the cluster", () => columnsOf("members", { ofServers: false, draw: {
      name: { name: "Server", kind: "name", text: (row) => row.name },
      state: { sign: stateOf, draw: (row) => badge(stateOf(row), { up: "good", drains: "warn" }[stateOf(row)] || "bad") },
      pressure: { kind: "use", sign: (row) => row.pressure, draw: pressure },
    } }), "This server is alone.");
    this.table.node.classList.add("wide");
    this.about = element("p", { class: "dim" });
    return [this.about, this.table.node];
  },
  // A server knows most about itself, with or without a directory.
  async load() {
    const { members } = await ask("GET", "admin/cluster?node=*");
    const toldBy = (node, name) => members.find((each) => each.node === node && each.name === name);
    this.members = state.session.nodes.map((name) => toldBy(name, name) || toldBy(state.session.node, name)).filter(Boolean);
    this.update();
  },
  update() {
    setText(this.about, `You are at ${state.session.node}, which asks the others.`);
    const figures = machines();
    const rows = this.members.map(({ node, ...member }) => ({ ...member, ...figures[member.name] }));
    this.table.show(rows.filter(({ name }) => isShown({ node: name })), (row) => row.name);
  },
};
