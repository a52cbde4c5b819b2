// Tables whose rows are kept by key, so that what a reader has opened, focused or selected stays while figures change.

import { element, empty, setText } from "./elements.js";

/// A column has a `name` and a `kind` (its class), and either `text(item)`, or `draw(item, cell)`, which returns nodes and is
/// called where `sign(item)` has changed. Roles are written out, because on narrow screens rows are cards.
export class Table {
  constructor(name, columns, nothing) {
    this.columns = columns;
    this.rows = new Map();
    this.body = element("tbody", { role: "rowgroup" });
    this.nothing = empty(nothing);
    const heads = columns.map((column) => element("th", { scope: "col", role: "columnheader", class: column.kind }, column.name));
    this.table = element("table", { "aria-label": name, role: "table" }, element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, heads)), this.body);
    this.node = element("div", { class: "rows" }, this.table, this.nothing);
    this.table.hidden = true;
    this.nothing.hidden = true;
  }

  show(items, key) {
    const seen = new Set();
    let place = this.body.firstElementChild;
    for (const item of items) {
      const id = key(item);
      if (seen.has(id)) continue;
      seen.add(id);
      const row = this.row(id, item);
      if (row === place) place = place.nextElementSibling;
      else this.body.insertBefore(row, place);
    }
    for (const [id, row] of this.rows) if (!seen.has(id)) { row.remove(); this.rows.delete(id); }
    this.nothing.hidden = seen.size > 0;
    this.table.hidden = seen.size === 0;
  }

  row(id, item) {
    let row = this.rows.get(id);
    if (!row) {
      row = element("tr", { role: "row" }, this.columns.map((column) => element("td", { role: "cell", class: column.kind, "data-name": column.name })));
      this.rows.set(id, row);
    }
    this.columns.forEach((column, index) => this.fill(row.children[index], column, item));
    return row;
  }

  fill(cell, column, item) {
    if (column.text) return setText(cell, column.text(item));
    const sign = column.sign(item);
    if (cell.sign === sign) return undefined;
    cell.sign = sign;
    const nodes = column.draw(item, cell);
    if (nodes !== undefined) cell.replaceChildren(...[nodes].flat().filter((node) => node !== null && node !== undefined));
    return undefined;
  }
}

/// Calls `act` with the text a moment after the last key.
export function search(label, act, value = "") {
  let waiting = 0;
  return element("input", { type: "search", placeholder: label, "aria-label": label, value, oninput: (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => act(event.target.value.trim()), 150);
  } });
}

export const holds = (row, wanted) => !wanted || JSON.stringify(row).toLowerCase().includes(wanted.toLowerCase());
