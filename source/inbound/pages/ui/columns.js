// Tables of lists of the administration: drawn by the `columns` that the lists send (docs/rest.md), as the command line draws them.

import { ago, badge, bytes, element, owner, seconds } from "./elements.js";
import { nodeColumn } from "./nodes.js";
import { listColumns, state } from "./server.js";

const writes = (value, write) => value === null || value === undefined ? "" : write(value);
const joined = (list) => (list || []).join(", ");
const pairs = (object) => Object.entries(object || {}).map(([name, value]) => `${name}=${value}`).join(", ");

/// The text of a value, by the kind of its column. A kind that is not known is text.
const textOf = {
  principal: (row, name) => owner(row[name]),
  list: (row, name) => joined(row[name]),
  pairs: (row, name) => pairs(row[name]),
  flag: (row, name) => row[name] ? "yes" : "no",
  number: (row, name) => writes(row[name], (value) => value.toLocaleString("en")),
  bytes: (row, name) => writes(row[name], bytes),
  duration: (row, name) => writes(row[name], seconds),
  time: (row, name) => ago(row[name]),
  share: (row, name) => writes(row[name], (value) => `${Math.round(100 * value)} %`),
  part: (row, name, of) => writes(row[name], (value) => `${value.toLocaleString("en")} of ${(row[of] ?? 0).toLocaleString("en")}`),
  used: (row, name, of) => row[of] ? `${bytes(row[of] - row[name])} of ${bytes(row[of])}` : "",
  texts: (row, name, of) => [row[name], ...(row[of] || [])].filter(Boolean).join("; "),
};
const classOf = { principal: "name", texts: "line", number: "number", bytes: "number", duration: "number", share: "number", part: "number", used: "number", time: "at" };

const colours = { running: "good", on: "good", ready: "good", ok: "good", up: "good", finished: "good", waiting: "warn", queued: "warn", degraded: "warn", killed: "warn", paused: "warn", drains: "warn",
  failed: "bad", lost: "bad", off: "bad", timeout: "bad" };
const stateColumn = (name) => ({ sign: (row) => row[name], draw: (row) => row[name] ? badge(row[name], colours[row[name]]) : null });
const handleColumn = (name) => ({ sign: (row) => row[name], draw: (row) => element("code", { title: row[name] }, row[name]) });

function drawnBy({ name, kind, title, of }) {
  const text = textOf[kind] || ((row) => writes(row[name], String));
  const plain = { name: title, kind: classOf[kind], value: (row) => row[name], text: (row) => text(row, name, of) };
  if (name === "state" || name === "status") return { ...plain, text: undefined, ...stateColumn(name) };
  return kind === "handle" ? { ...plain, text: undefined, ...handleColumn(name) } : plain;
}

const shows = ({ kind }) => kind !== "principal" || (state.session.everything && state.session.named);

/// The columns of a list, as Table takes them; null: the server has not sent them yet. `leave`: names of columns that others
/// tell better; `draw`: members of Table's columns that are drawn in another way, by name; `first` and `last`: columns around them; `ofServers`: in a cluster the rows are of servers.
export function columnsOf(list, { leave = [], draw = {}, first = [], last = [], ofServers = true } = {}) {
  const sent = listColumns[list];
  if (!sent) return null;
  const own = sent.filter((column) => shows(column) && !leave.includes(column.name))
    .map((column) => {
      const changed = draw[column.name];
      return changed ? { ...drawnBy(column), ...(changed.draw ? { text: undefined } : {}), ...changed } : drawnBy(column);
    });
  const [head, ...rest] = [...first, ...own];
  return [head, ...(ofServers ? nodeColumn() : []), ...rest, ...last];
}
