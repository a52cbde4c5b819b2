// Previews of files: text with colours, Markdown, tables, notebooks, pictures, pages and PDF. Whatever is no text of this page is
// drawn by an <img>, or in a sandboxed frame with a policy of its own.

import { bytes, element, empty, inPath, note, query } from "./elements.js";
import { highlighted, languageOf } from "./highlight.js";
import { markdown } from "./markdown.js";
import { objectOf, send } from "./server.js";

const mostShown = 256 * 1024;   // bytes of a text
const mostNotebook = 8 * 1024 * 1024;
const mostRows = 500, mostCells = 200;

export const isImage = (name) => /\.(png|jpe?g|gif|webp|avif|svg|bmp|ico)$/i.test(name);
const endingOf = (name) => (/\.([^./]+)$/.exec(name) || ["", ""])[1].toLowerCase();

export const addressOf = (box, path) => `sandbox/file?${query({ sandbox_id: box.id, file_path: path })}`;
export const pageOf = (box, kind, path) => `#sandboxes/${inPath(box.id)}/${kind}${path ? `/${path.split("/").map(inPath).join("/")}` : ""}`;

/// A page or PDF of a sandbox. The server's answer has a policy that lets it reach nothing; the frame's own origin is none.
export function frameOf(box, path, title, size = "") {
  const pdf = endingOf(path) === "pdf";
  return element("iframe", { class: `shown ${pdf ? "tall" : size}`, title, src: `${addressOf(box, path)}&in_frame=1`, referrerpolicy: "no-referrer", ...(pdf ? {} : { sandbox: "allow-scripts" }) });
}

export const pictureOf = (box, path) => element("img", { class: "picture", src: addressOf(box, path), alt: path });

export const lines = (text, name) => element("pre", { class: "text", tabIndex: 0 }, highlighted(text, languageOf(name)));

// ---------------------------------------------------------------- tables
/// The rows of comma or tab separated values (RFC 4180), of which a quoted one may have line ends.
export function separated(text, separator) {
  const rows = [[]];
  let cell = "", quoted = false;
  for (let i = 0; i < text.length; ++i) {
    const c = text[i];
    if (quoted && c === '"' && text[i + 1] === '"') { cell += c; i += 1; }
    else if (c === '"' && (quoted || cell === "")) quoted = !quoted;
    else if (!quoted && c === separator) { rows[rows.length - 1].push(cell); cell = ""; }
    else if (!quoted && c === "\n") { rows[rows.length - 1].push(cell.replace(/\r$/, "")); cell = ""; rows.push([]); }
    else cell += c;
  }
  rows[rows.length - 1].push(cell);
  if (rows[rows.length - 1].length === 1 && cell === "") rows.pop();
  return rows;
}

const isNumber = (text) => text !== "" && !Number.isNaN(Number(text));

export function tableOf(rows, name) {
  const [head = [], ...body] = rows;
  const shown = body.slice(0, mostRows), columns = head.slice(0, mostCells);
  const cut = [body.length > shown.length ? `The first ${mostRows} of ${body.length.toLocaleString("en")} rows` : `${body.length.toLocaleString("en")} rows`,
    head.length > columns.length ? `the first ${mostCells} of ${head.length} columns` : `${head.length} columns`].join(", ");
  return [note(`${cut}.`), element("div", { class: "scrolls", tabIndex: 0, role: "region", "aria-label": `Table of ${name}` }, element("table", { class: "data" },
    element("thead", {}, element("tr", {}, columns.map((cell) => element("th", { scope: "col" }, cell)))),
    element("tbody", {}, shown.map((row) => element("tr", {}, columns.map((_, index) => element("td", { class: isNumber(row[index] || "") ? "number" : null }, row[index] ?? "")))))))];
}

// ---------------------------------------------------------------- notebooks
const textIn = (value) => Array.isArray(value) ? value.join("") : String(value ?? "");
const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp"];

function outputOf(output) {
  if (output.output_type === "stream") return element("pre", {}, textIn(output.text));
  if (output.output_type === "error") return element("pre", { class: "bad" }, textIn((output.traceback || [output.evalue]).join("\n")).replace(/\x1b\[[\d;]*m/g, ""));
  const data = output.data || {};
  const image = pictures.find((type) => data[type]);
  if (image) return element("img", { class: "picture", src: `data:${image};base64,${textIn(data[image]).replace(/[^A-Za-z0-9+/=]/g, "")}`, alt: textIn(data["text/plain"]).slice(0, 200) || "Output" });
  return element("pre", {}, textIn(data["text/plain"] || data["text/markdown"] || `Output of ${Object.keys(data).join(", ")}`));
}

export function notebook(text, resolve) {
  const { cells = [], metadata = {} } = JSON.parse(text);
  const language = languageOf((metadata.kernelspec || {}).language || (metadata.language_info || {}).name || "python");
  return cells.map((cell) => {
    const source = textIn(cell.source);
    if (cell.cell_type === "markdown") return element("div", { class: "prose" }, markdown(source, resolve));
    const count = cell.execution_count ? `In [${cell.execution_count}]` : "In [ ]";
    return element("section", { class: "cell", "aria-label": count }, element("div", { class: "dim" }, cell.cell_type === "code" ? count : cell.cell_type), element("pre", { class: "text", tabIndex: 0 }, highlighted(source, language)), (cell.outputs || []).map(outputOf));
  });
}

// ---------------------------------------------------------------- of a file
/// The text of a file's beginning: {text, whole, size, isText}.
export async function readText(box, path, most = mostShown) {
  const answer = await send(addressOf(box, path), { headers: { Range: `bytes=0-${most - 1}` } });
  if (!answer.ok && answer.status !== 416) await objectOf(answer);
  const start = new Uint8Array(answer.ok ? await answer.arrayBuffer() : new ArrayBuffer(0));
  const size = Number((answer.headers.get("content-range") || "").split("/")[1]) || start.length;
  const isCut = size > start.length;
  if (start.includes(0)) return { text: "", isCut, size, shown: start.length, isText: false };
  for (let cut = 0; cut < (isCut ? 4 : 1); ++cut) {      // a character may be cut at the end
    try { return { text: new TextDecoder("utf-8", { fatal: true }).decode(start.subarray(0, start.length - cut)), isCut, size, shown: start.length, isText: true }; } catch { /* one byte less */ }
  }
  return { text: "", isCut, size, shown: start.length, isText: false };
}

// What the file is shown as, beside its text; `draw` takes its text.
const richer = {
  md: { word: "Preview", draw: (box, path, text) => element("div", { class: "prose" }, markdown(text, resolver(box, path))) },
  csv: { word: "Table", draw: (box, path, text) => tableOf(separated(text, text.includes(";") && !text.includes(",") ? ";" : ","), path) },
  tsv: { word: "Table", draw: (box, path, text) => tableOf(separated(text, "\t"), path) },
  ipynb: { word: "Notebook", draw: (box, path, text) => notebook(text, resolver(box, path)) },
  html: { word: "Page", draw: (box, path) => frameOf(box, path, `Page ${path}`) },
  svg: { word: "Picture", draw: (box, path) => pictureOf(box, path) },
};
richer.markdown = richer.md;
richer.htm = richer.html;

/// Paths in a text are relative to its folder.
export function resolver(box, path) {
  const folder = path.split("/").slice(0, -1);
  return (address) => {
    const parts = address.startsWith("/") ? [] : [...folder];
    let wanted = address.split(/[?#]/)[0];
    try { wanted = decodeURIComponent(wanted); } catch { /* as it is written */ }
    for (const part of wanted.split("/")) if (part === "..") parts.pop(); else if (part && part !== ".") parts.push(part);
    const at = parts.join("/");
    return at ? { page: pageOf(box, "file", at), file: addressOf(box, at) } : null;
  };
}

function textsOf(place, box, path, { text, isCut, size, shown }) {
  const rich = richer[endingOf(path)];
  const body = element("div");
  const cut = isCut ? note(`The first ${bytes(shown)} of ${bytes(size)}.`) : null;
  const show = (isRich) => {
    let nodes = null;
    try { nodes = isRich ? [rich.draw(box, path, text)].flat() : null; } catch { nodes = [note("This file is not what its name says; here is its text.")]; }
    body.replaceChildren(...[cut, ...(nodes || []), !isRich || (nodes && nodes[0].matches("p.dim:only-child")) ? lines(text, path) : null].filter(Boolean));
    for (const each of choice ? choice.children : []) each.setAttribute("aria-pressed", String((each.value === "rich") === isRich));
  };
  const press = (word, value) => element("button", { type: "button", value, onclick: () => show(value === "rich") }, word);
  const choice = rich ? element("div", { class: "tools", role: "group", "aria-label": "Shown as" }, press(rich.word, "rich"), press("Text", "text")) : null;
  place.replaceChildren(...[choice, body].filter(Boolean));
  show(Boolean(rich));
}

/// Shows the file in `place`, and returns its whole text where that can be edited.
export async function preview(box, path, place) {
  const ending = endingOf(path);
  if (isImage(path) && ending !== "svg") { place.replaceChildren(pictureOf(box, path)); return undefined; }
  if (ending === "pdf") { place.replaceChildren(frameOf(box, path, `PDF ${path}`)); return undefined; }
  if (/^(mp3|wav|ogg|m4a|flac)$/.test(ending)) { place.replaceChildren(element("audio", { controls: true, src: addressOf(box, path), "aria-label": path })); return undefined; }
  if (/^(mp4|webm|mov)$/.test(ending)) { place.replaceChildren(element("video", { class: "picture", controls: true, src: addressOf(box, path), "aria-label": path })); return undefined; }
  const read = await readText(box, path, ending === "ipynb" ? mostNotebook : mostShown);
  if (!read.isText) { place.replaceChildren(empty(`This file is no text; it has ${bytes(read.size)}.`)); return undefined; }
  if (!read.text) { place.replaceChildren(empty("This file is empty.")); return ""; }
  textsOf(place, box, path, read);
  return read.isCut ? undefined : read.text;
}
