// The files of a sandbox: lists, texts and images, downloads and uploads.

import { ago, button, bytes, copyButton, element, empty, inPath, note, query, say } from "./elements.js";
import { Refusal, attempt, may, objectOf, proof, send, tool } from "./server.js";
import { Table } from "./table.js";

const mostShown = 256 * 1024;   // bytes of a text
const image = /\.(png|jpe?g|gif|webp|avif|svg|bmp|ico)$/i;

const addressOf = (box, path) => `sandbox/file?${query({ sandbox_id: box.id, file_path: path })}`;
const placeOf = (box, kind, path) => `#sandboxes/${inPath(box.id)}/${kind}${path ? `/${path.split("/").map(inPath).join("/")}` : ""}`;

function crumbs(box, path) {
  const names = path ? path.split("/") : [];
  const links = names.map((name, index) => element("li", {}, element("a", { href: placeOf(box, "files", names.slice(0, index + 1).join("/")) }, name)));
  return element("nav", { class: "crumbs", "aria-label": "Folder" }, element("ol", {}, element("li", {}, element("a", { href: placeOf(box, "files", "") }, box.name || box.id)), links));
}

// fetch() tells nothing of how far an upload is.
function upload(box, path, file, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", addressOf(box, path));
    for (const [name, value] of Object.entries(proof())) request.setRequestHeader(name, value);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = ({ loaded, total }) => progress(loaded, total);
    request.onerror = () => reject(new Refusal(0, `${file.name} was not taken: the connection ended.`));
    request.onload = () => objectOf(new Response(request.response, { status: request.status })).then(resolve, reject);
    request.send(file);
  });
}

async function uploadAll(box, folder, files, about) {
  for (const file of files) {
    const path = folder ? `${folder}/${file.name}` : file.name;
    const stored = await attempt(() => upload(box, path, file, (loaded, total) => { about.textContent = `${file.name}: ${bytes(loaded)} of ${bytes(total)}`; }));
    if (!stored) break;
    say(`${file.name} is stored`);
  }
  about.textContent = "";
}

function chooser(box, folder, load) {
  const about = element("span", { class: "dim", role: "status" });
  const input = element("input", { type: "file", multiple: true, class: "unseen", id: "upload", tabIndex: -1, "aria-hidden": "true" });
  input.addEventListener("change", async () => {
    await uploadAll(box, folder, [...input.files], about);
    input.value = "";
    await attempt(load);
  });
  return [button("Upload files", () => input.click(), { disabled: !may("files") }), input, about];
}

function tableOf(box) {
  const name = (entry) => element("a", { href: placeOf(box, entry.is_directory ? "files" : "file", entry.path) }, entry.is_directory ? `${entry.name}/` : entry.name);
  return new Table("Files", [
    { name: "Name", kind: "name", sign: (entry) => entry.path + entry.is_directory, draw: (entry) => entry.is_directory || entry.type === "file" || !entry.type ? name(entry) : `${entry.name} (${entry.type})` },
    { name: "Size", kind: "number", text: (entry) => bytes(entry.size) },
    { name: "Changed", kind: "at", text: (entry) => ago(entry.modified) },
    { name: "Download", kind: "acts", sign: (entry) => entry.path + entry.is_directory, draw: (entry) => entry.is_directory ? null
      : element("a", { class: "button", href: addressOf(box, entry.path), download: entry.name, "aria-label": `Download ${entry.name}` }, "Download") },
  ], "This folder is empty.");
}

function folderOf(box, place, path) {
  const entries = [];
  let cursor = null;
  const more = button("More", () => attempt(add));
  const said = note("");
  const table = tableOf(box);
  async function add() {
    const page = await tool("file_list", { sandbox_id: box.id, path: path || ".", ...(cursor ? { cursor } : {}) });
    entries.push(...page.entries);
    entries.sort((one, other) => other.is_directory - one.is_directory);
    cursor = page.next_cursor;
    more.hidden = !cursor;
    said.textContent = page.note || "";
    table.show(entries, (entry) => entry.path);
  }
  async function load() {
    entries.length = 0;
    cursor = null;
    await add();
  }
  place.replaceChildren(crumbs(box, path), element("div", { class: "tools" }, chooser(box, path, load)), table.node, more, said);
  return { load };
}

async function textOf(box, path) {
  const answer = await send(addressOf(box, path), { headers: { Range: `bytes=0-${mostShown - 1}` } });
  if (answer.status === 416) return { text: "", size: 0 };
  if (!answer.ok) return objectOf(answer);
  const size = Number((answer.headers.get("content-range") || "").split("/")[1] || answer.headers.get("content-length"));
  const start = new Uint8Array(await answer.arrayBuffer());
  const text = new TextDecoder().decode(start, { stream: true });
  return { size, text: start.includes(0) ? null : text };
}

function fileOf(box, place, path) {
  const shown = element("div");
  const name = path.slice(path.lastIndexOf("/") + 1);
  const load = async () => {
    if (image.test(name)) { shown.replaceChildren(element("img", { src: addressOf(box, path), alt: name, class: "picture" })); return; }
    const { text, size } = await textOf(box, path);
    if (text === null) shown.replaceChildren(empty(`This file is no text; it has ${bytes(size)}.`));
    else if (!size) shown.replaceChildren(empty("This file is empty."));
    else shown.replaceChildren(size > mostShown ? note(`The first ${bytes(mostShown)} of ${bytes(size)}`) : "", element("pre", { class: "text", tabIndex: 0, role: "region", "aria-label": name }, text));
  };
  const links = element("div", { class: "tools" }, element("a", { class: "button", href: addressOf(box, path), download: name }, "Download"), copyButton(path, "Copy the path", "Copy the path"));
  place.replaceChildren(crumbs(box, path), links, shown);
  return { load };
}

export const filesOf = (box, place, rest) => folderOf(box, place, rest.join("/"));
export const viewOf = (box, place, rest) => fileOf(box, place, rest.join("/"));
