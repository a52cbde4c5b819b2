// One dialog at a time.

import { button, byId, element, say } from "./elements.js";
import { attempt } from "./server.js";

const dialog = byId("dialog");
let closing = null;

export function openDialog(title, ...body) {
  byId("dialog-title").textContent = title;
  byId("dialog-body").replaceChildren(...body);
  if (!dialog.open) dialog.showModal();
}

export const whenClosed = (act) => { closing = act; };

// A browser gives the focus back, but not to what is gone.
function settle() {
  const act = closing;
  closing = null;
  byId("dialog-body").replaceChildren();
  if (act) act();
  if (document.activeElement === document.body) byId("main").focus();
}

export function closeDialog() {
  if (!dialog.open) return;
  dialog.close();
  settle();
}

// The event comes later, when another dialog may be open.
dialog.addEventListener("close", () => { if (!dialog.open) settle(); });

function asked(question, word) {
  return new Promise((resolve) => {
    let answer = false;
    const no = button("Cancel", closeDialog);
    openDialog(question, element("div", { class: "tools" }, button(word, () => { answer = true; closeDialog(); }, { class: "danger" }), no));
    no.focus();
    closing = () => resolve(answer);
  });
}

/// Does the work when the question is answered with `word`, and tells `after`.
export async function confirmed(question, word, work, after) {
  if (!await asked(question, word)) return;
  const result = await attempt(async () => { await work(); return true; });
  if (result) say("Done");
  if (after) await after();
}

function inputOf({ value, type, options }, attributes) {
  const text = value === undefined ? "" : String(value);
  if (options) return element("select", attributes, Object.entries(options).map(([word, name]) => element("option", { value: word, selected: word === text }, name)));
  if (type !== "textarea") return element("input", { ...attributes, type: type || "text", value: text, autocomplete: type === "password" ? "new-password" : "off" });
  const area = element("textarea", { ...attributes, rows: "5", spellcheck: "false" });
  area.value = text;
  return area;
}

// Its value is the list of the names that are checked.
const checksOf = ({ name, label, options, value }) => element("fieldset", { class: "field" }, element("legend", {}, label), Object.entries(options).map(([word, text]) =>
  element("label", { class: "check" }, element("input", { type: "checkbox", name, value: word, checked: value.includes(word) }), element("b", {}, word), element("span", { class: "dim" }, text))));

// A field with `options` is a choice, of texts by value.
function fieldOf(field) {
  if (field.type === "checks") return checksOf(field);
  const { name, label, hint, required } = field;
  const id = `field-${name}`;
  const input = inputOf(field, { id, name, required, "aria-describedby": hint ? `${id}-hint` : null });
  return element("div", { class: "field" }, element("label", { for: id }, label), input, hint ? element("small", { class: "dim", id: `${id}-hint` }, hint) : null);
}

function valuesOf(elements) {
  const values = {};
  for (const each of elements) {
    if (!each.name) continue;
    if (each.type !== "checkbox") values[each.name] = each.value.trim();
    else values[each.name] = [...(values[each.name] || []), ...(each.checked ? [each.value] : [])];
  }
  return values;
}

/// A form in the dialog. `act` takes the texts by name; while it fails, the dialog stays and says why. A function that it
/// returns is called behind the dialog's end.
export function form(title, word, fields, act) {
  const problem = element("p", { class: "bad", role: "alert" });
  const go = element("button", { class: "main" }, word);
  const submit = async (event) => {
    event.preventDefault();
    const values = valuesOf(event.target.elements);
    go.disabled = true;
    try {
      const then = await act(values);
      closeDialog();
      if (typeof then === "function") then(); else say("Done");
    } catch (failure) { problem.textContent = failure.message; }
    go.disabled = false;
  };
  openDialog(title, element("form", { class: "fields", onsubmit: submit }, fields.map(fieldOf), problem, element("div", { class: "tools" }, go, button("Cancel", closeDialog))));
  byId("dialog-body").querySelector("input, select, textarea").focus();
}
