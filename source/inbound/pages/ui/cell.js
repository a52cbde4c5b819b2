// Code cells: code runs in the sandbox's kernel, and what it prints, draws and returns is shown below.

import { button, copyButton, element, note, seconds } from "./elements.js";
import { highlighted } from "./highlight.js";
import { markdown } from "./markdown.js";
import { addressOf, frameOf, pageOf, pictureOf, readText, resolver } from "./previews.js";
import { attempt, may, tool, toolWithOutput } from "./server.js";

const mostOutput = 200_000;   // characters
const mostCells = 50;
const kept = new Map();       // cells that have run, by sandbox, while the page is open

// The richest form that the page can draw; the text has been printed.
async function displayOf(box, { files, mime_types: types }) {
  const of = (pattern) => { const type = Object.keys(files).find((each) => pattern.test(each)); return type && files[type]; };
  const image = of(/^image\//), page = of(/^text\/html$/), text = of(/^text\/markdown$/), pdf = of(/^application\/pdf$/);
  if (image) return element("a", { href: pageOf(box, "file", image) }, pictureOf(box, image));
  if (page) return frameOf(box, page, "Output of the cell", "low");
  if (text) return element("div", { class: "prose" }, markdown((await readText(box, text)).text, resolver(box, text)));
  if (pdf) return frameOf(box, pdf, "Output of the cell");
  const other = Object.values(files)[0];
  return other ? element("a", { href: addressOf(box, other), download: "" }, `Download ${types.join(", ")}`) : null;
}

const shownIn = (displays) => new Set(displays.flatMap(({ files }) => Object.values(files)));
const isEnd = ({ cause, exit_code: code }) => cause && cause !== "exited" ? `The run ended: ${cause}.` : code ? `Exit code ${code}` : "";

async function drawResult(box, cell, result) {
  const displays = result.displays || [], richResult = displays.some((each) => each.is_result && Object.keys(each.files).length);
  const nodes = [];
  for (const display of displays) nodes.push(await displayOf(box, display).catch(() => null));
  if (result.result !== undefined && !richResult) nodes.push(element("pre", { class: "result" }, typeof result.result === "string" ? result.result : JSON.stringify(result.result, null, 1)));
  const files = (result.files || []).filter((path) => !shownIn(displays).has(path) && !path.startsWith("."));
  if (files.length) nodes.push(element("p", {}, "Files: ", files.flatMap((path, index) => [index ? ", " : "", element("a", { href: pageOf(box, "file", path) }, path)])));
  for (const text of [result.error, ...(result.denied || []), result.hint]) if (text && !cell.printed.textContent.includes(text)) nodes.push(element("p", { class: "bad" }, text));
  cell.rich.replaceChildren(...nodes.filter(Boolean));
  cell.end.textContent = [isEnd(result), seconds((result.duration_ms || 0) / 1000)].filter(Boolean).join(", ");
  cell.node.classList.toggle("failed", result.success === false);
}

function begin(box, code, again) {
  const printed = element("pre", { tabIndex: 0, hidden: true }), rich = element("div", { class: "rich" }), end = element("span", { class: "dim", role: "status" }, "runs …");
  const stop = new AbortController();
  const interrupt = button("Interrupt", () => { attempt(() => tool("interrupt_kernel", { sandbox_id: box.id })); }, { class: "danger" });
  const node = element("section", { class: "cell", "aria-label": "Cell that has run" }, element("pre", { class: "text", tabIndex: 0 }, highlighted(code, "python")), printed, rich,
    element("div", { class: "tools" }, end, interrupt, copyButton(code, "Copy the code"), button("Edit again", () => again(code))));
  return { node, printed, rich, end, interrupt, stop };
}

async function run(box, cell, code) {
  const print = (text) => { cell.printed.hidden = false; cell.printed.textContent = (cell.printed.textContent + text).slice(-mostOutput); };
  try { await drawResult(box, cell, await toolWithOutput("execute_python_code", { sandbox_id: box.id, code, stateful: true }, print, cell.stop.signal)); } catch (problem) {
    cell.end.textContent = problem.message;
    cell.node.classList.add("failed");
  }
  cell.interrupt.remove();
}

/// The cells of a sandbox in `place`.
export function cellsOf(box, place) {
  const cells = kept.get(box.id) || [];
  kept.set(box.id, cells);
  const done = element("div", { class: "cells" }, cells.map(({ node }) => node));
  const input = element("textarea", { class: "editor code", "aria-label": "Python code", rows: "6", spellcheck: "false", placeholder: "print(\"hello\")" });
  const start = async () => {
    const code = input.value;
    if (!code.trim()) return;
    const cell = begin(box, code, (text) => { input.value = text; input.focus(); });
    cells.push(cell);
    if (cells.length > mostCells) cells.shift().node.remove();
    done.append(cell.node);
    input.value = "";
    await run(box, cell, code);
  };
  input.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.shiftKey)) { event.preventDefault(); start(); } });
  const restart = () => attempt(async () => { await tool("restart_kernel", { sandbox_id: box.id }); done.append(note("The kernel was restarted: its variables are gone.")); });
  place.replaceChildren(done, input, element("div", { class: "tools" }, button("Run", start, { class: "main", disabled: !may("run") }), button("Restart the kernel", restart, { disabled: !may("run") }),
    button("Clear", () => { cells.length = 0; done.replaceChildren(); }), element("span", { class: "dim" }, "Ctrl+Enter runs. Variables stay from cell to cell.")));
  return { load: async () => {} };
}
