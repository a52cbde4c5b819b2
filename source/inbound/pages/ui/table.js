// Tables whose rows are kept by key, so that what a reader has opened, focused or selected stays while figures change.

import { button, count, element, empty, say, setText } from "./elements.js";
import { confirmed } from "./dialogs.js";

const byValue = (one, other) => typeof one === "number" && typeof other === "number" ? one - other : String(one ?? "").localeCompare(String(other ?? ""), "en", { numeric: true });

/// A column has a `name` and a `kind` (its class), and either `text(item)`, or `draw(item, cell)`, which returns nodes and is
/// called where `sign(item)` has changed. One with `value(item)` sorts. `columns` may be a function that has none yet (null).
/// `choice`: rows can be selected, and something done to all of them: {of(item): a name or nothing, word, question(names), work(item), after}.
/// Roles are written out, because on narrow screens rows are cards.
export class Table {
  constructor(name, columns, nothing, choice = null) {
    this.wanted = columns;
    this.columns = null;
    this.choice = choice;
    this.order = null;
    this.chosen = new Set();
    this.rows = new Map();
    this.items = new Map();
    this.head = element("tr", { role: "row" });
    this.body = element("tbody", { role: "rowgroup" });
    this.nothing = empty(nothing);
    this.table = element("table", { "aria-label": name, role: "table" }, element("thead", { role: "rowgroup" }, this.head), this.body);
    this.bar = choice ? element("div", { class: "tools chosen", role: "group", "aria-label": "Selected rows", hidden: true }) : null;
    this.node = element("div", { class: "rows" }, this.bar, this.table, this.nothing);
    this.table.hidden = true;
    this.nothing.hidden = true;
  }

  // The names of sortable columns are buttons; a second press turns the order around, a third one takes it back.
  begin() {
    const columns = typeof this.wanted === "function" ? this.wanted() : this.wanted;
    if (!columns) return false;
    this.columns = this.choice ? [this.choiceColumn(), ...columns] : columns;
    this.head.replaceChildren(...this.columns.map((column) => element("th", { scope: "col", role: "columnheader", class: column.kind },
      column.head ? column.head() : column.value ? button(column.name, () => this.sort(column), { class: "plain" }) : column.name)));
    return true;
  }

  sort(column) {
    const [before, up] = this.order || [];
    this.order = before !== column ? [column, true] : up ? [column, false] : null;
    this.columns.forEach((each, index) => {
      const isIt = this.order && this.order[0] === each;
      this.head.children[index].toggleAttribute("aria-sort", isIt);
      if (isIt) this.head.children[index].setAttribute("aria-sort", this.order[1] ? "ascending" : "descending");
    });
    this.show(this.shown, this.key);
    say(this.order ? `Sorted by ${column.name}, ${this.order[1] ? "ascending" : "descending"}` : "In the usual order");
  }

  sorted(items) {
    if (!this.order) return items;
    const [{ value }, up] = this.order;
    return [...items].sort((one, other) => (up ? 1 : -1) * byValue(value(one), value(other)));
  }

  show(items, key) {
    [this.shown, this.key] = [items, key];
    if (!this.columns && !this.begin()) return;
    const seen = new Set();
    let place = this.body.firstElementChild;
    for (const item of this.sorted(items)) {
      const id = key(item);
      if (seen.has(id)) continue;
      seen.add(id);
      this.items.set(id, item);
      const row = this.row(id, item);
      if (row === place) place = place.nextElementSibling;
      else this.body.insertBefore(row, place);
    }
    for (const [id, row] of this.rows) if (!seen.has(id)) { row.remove(); this.rows.delete(id); this.items.delete(id); this.chosen.delete(id); }
    this.nothing.hidden = seen.size > 0;
    this.table.hidden = seen.size === 0;
    if (this.choice) this.drawBar();
  }

  row(id, item) {
    let row = this.rows.get(id);
    if (!row) {
      row = element("tr", { role: "row" }, this.columns.map((column) => element("td", { role: "cell", class: column.kind, "data-name": column.name })));
      row.id_in_table = id;
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

  // ---------------------------------------------------------------- selection
  choiceColumn() {
    const all = () => element("input", { type: "checkbox", "aria-label": "Select all rows", onchange: ({ target }) => {
      for (const [id, item] of this.items) if (this.choice.of(item)) this.choose(id, target.checked);
      this.drawBar();
    } });
    return { name: "", kind: "choose", head: all, sign: (item) => this.choice.of(item), draw: (item, cell) => {
      const name = this.choice.of(item);
      return name ? element("input", { type: "checkbox", "aria-label": `Select ${name}`, onchange: ({ target }) => { this.choose(cell.parentElement.id_in_table, target.checked); this.drawBar(); } }) : null;
    } };
  }

  choose(id, on) {
    this.chosen[on ? "add" : "delete"](id);
    const box = this.rows.get(id).querySelector("td.choose input");
    if (box) box.checked = on;
  }

  drawBar() {
    const names = [...this.chosen].map((id) => this.choice.of(this.items.get(id)));
    const sign = names.join("\n");
    if (this.bar.sign === sign) return;
    this.bar.sign = sign;
    this.bar.hidden = names.length === 0;
    const act = button(`${this.choice.word} ${count(names.length, "row")}`, () => this.workOnChosen(), { class: "danger" });
    this.bar.replaceChildren(element("span", {}, `${count(names.length, "row")} selected`), act, button("Select none", () => { for (const id of [...this.chosen]) this.choose(id, false); this.head.querySelector("input").checked = false; this.drawBar(); }));
  }

  async workOnChosen() {
    const items = [...this.chosen].map((id) => this.items.get(id));
    const work = async () => { for (const item of items) await this.choice.work(item); };
    await confirmed(this.choice.question(items.map((item) => this.choice.of(item))), `${this.choice.word} them`, work, this.choice.after);
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
