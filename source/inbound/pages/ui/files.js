// The files of a sandbox: lists and galleries, previews, uploads, and what changes them.

import { ago, button, bytes, copyButton, element, empty, note, say, shellWord } from "./elements.js";
import { confirmed, form } from "./dialogs.js";
import { addressOf, isImage, pageOf, preview } from "./previews.js";
import { Refusal, attempt, may, objectOf, proof, send, tool } from "./server.js";
import { Table } from "./table.js";

const longestEdited = 256 * 1024;   // bytes
const nameOf = (path) => path.split("/").pop();
const inFolder = (folder, name) => folder ? `${folder}/${name}` : name;

function crumbs(box, path) {
  const names = path ? path.split("/") : [];
  const links = names.map((name, index) => element("li", {}, element("a", { href: pageOf(box, "files", names.slice(0, index + 1).join("/")) }, name)));
  return element("nav", { class: "crumbs", "aria-label": "Folder" }, element("ol", {}, element("li", {}, element("a", { href: pageOf(box, "files", "") }, box.name || box.id)), links));
}

// Files of every name and whole folders are changed by a command, as their owner would do it in the terminal.
async function change(box, ...commands) {
  const done = await tool("execute_terminal_command", { sandbox_id: box.id, command: commands.join(" && ") });
  if (!done.success) throw new Refusal(400, done.error || done.stderr.trim() || `The command ended with exit code ${done.exit_code}.`);
}
const path = (text) => shellWord(`./${text}`);
const isFree = (to) => `{ [ ! -e ${path(to)} ] || { echo ${shellWord(`There is already "${to}".`)} >&2; false; }; }`;
const makeFolderOf = (to) => to.includes("/") ? [`mkdir -p -- ${path(to.split("/").slice(0, -1).join("/"))}`] : [];

const removeFile = (box, entry) => change(box, `rm -rf -- ${path(entry.path)}`);
const rename = (box, from, then) => form(`Rename ${nameOf(from)}`, "Rename", [{ name: "to", label: "New path", value: from, required: true, hint: "A path with other folders moves it" }],
  async ({ to }) => { await change(box, isFree(to), ...makeFolderOf(to), `mv -- ${path(from)} ${path(to)}`); return () => then(to); });

// fetch() does not tell how far an upload is.
function upload(box, to, body, name, progress = () => {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", addressOf(box, to));
    for (const [field, value] of Object.entries(proof())) request.setRequestHeader(field, value);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = ({ loaded, total }) => progress(loaded, total);
    request.onerror = () => reject(new Refusal(0, `${name} was not stored: the connection ended.`));
    request.onload = () => objectOf(new Response(request.response, { status: request.status })).then(resolve, reject);
    request.send(body);
  });
}

async function uploadAll(box, folder, files, about) {
  for (const file of files) {
    const stored = await attempt(() => upload(box, inFolder(folder, file.name), file, file.name, (loaded, total) => { about.textContent = `${file.name}: ${bytes(loaded)} of ${bytes(total)}`; }));
    if (!stored) break;
    say(`${file.name} is stored`);
  }
  about.textContent = "";
}

function chooser(box, folder, load) {
  const about = element("span", { class: "dim", role: "status" });
  const input = element("input", { type: "file", multiple: true, class: "unseen", id: "upload", tabIndex: -1, "aria-hidden": "true" });
  const take = async (files) => { await uploadAll(box, folder, files, about); await attempt(load); };
  input.addEventListener("change", async () => { await take([...input.files]); input.value = ""; });
  return { take, nodes: [button("Upload files", () => input.click(), { disabled: !may("files") }), input, about] };
}

// Files that are dragged over the part fall into the folder that is shown.
function takeDropped(place, take) {
  const over = (event) => { if ([...event.dataTransfer.types].includes("Files") && may("files")) { event.preventDefault(); place.classList.add("drop"); } };
  place.addEventListener("dragover", over);
  place.addEventListener("dragleave", (event) => { if (!place.contains(event.relatedTarget)) place.classList.remove("drop"); });
  place.addEventListener("drop", async (event) => {
    place.classList.remove("drop");
    if (!event.dataTransfer.files.length || !may("files")) return;
    event.preventDefault();
    await take([...event.dataTransfer.files]);
  });
}

// ---------------------------------------------------------------- a folder
function tableOf(box, load) {
  const name = (entry) => element("a", { href: pageOf(box, entry.is_directory ? "files" : "file", entry.path) }, entry.is_directory ? `${entry.name}/` : entry.name);
  const acts = (entry) => [entry.is_directory ? null : element("a", { class: "button", href: addressOf(box, entry.path), download: entry.name, "aria-label": `Download ${entry.name}` }, "Download"),
    button("Rename", () => rename(box, entry.path, load), { "aria-label": `Rename ${entry.name}`, disabled: !may("run") })];
  const choice = may("run") ? { of: (entry) => entry.name, word: "Delete", question: (names) => `Delete ${names.join(", ")}? Folders go with all that is in them.`, work: (entry) => removeFile(box, entry), after: load } : null;
  return new Table("Files", [
    { name: "Name", kind: "name", value: (entry) => entry.name, sign: (entry) => entry.path + entry.is_directory, draw: (entry) => entry.is_directory || entry.type === "file" || !entry.type ? name(entry) : `${entry.name} (${entry.type})` },
    { name: "Size", kind: "number", value: (entry) => entry.size ?? -1, text: (entry) => bytes(entry.size) },
    { name: "Changed", kind: "at", value: (entry) => entry.modified, text: (entry) => ago(entry.modified) },
    { name: "Actions", kind: "acts", sign: (entry) => entry.path + entry.is_directory, draw: acts },
  ], "This folder is empty.", choice);
}

const galleryOf = (box, entries) => entries.length ? element("ul", { class: "gallery" }, entries.map((entry) => element("li", {},
  element("a", { href: pageOf(box, "file", entry.path) }, element("img", { src: addressOf(box, entry.path), alt: "", loading: "lazy" }), element("span", {}, entry.name))))) : empty("There are no pictures in this folder.");

const newFile = (box, folder) => form("New file", "Create", [{ name: "name", label: "Name", required: true, hint: "As notes/today.md; folders that are missing are made" }],
  async ({ name }) => { const to = inFolder(folder, name); await change(box, isFree(to), ...makeFolderOf(to), `: > ${path(to)}`); return () => { location.hash = pageOf(box, "file", to); }; });
const newFolder = (box, folder, load) => form("New folder", "Create", [{ name: "name", label: "Name", required: true }],
  async ({ name }) => { await change(box, `mkdir -p -- ${path(inFolder(folder, name))}`); await load(); });

/// The list of a folder in `place`.
export function filesOf(box, place, rest) {
  const folder = rest.join("/"), entries = new Map();
  let cursor = "", gallery = false;
  const table = tableOf(box, () => load());
  const pictures = element("div", { hidden: true });
  const more = button("Further files", () => attempt(fetchMore), { hidden: true });
  const show = () => {
    const rows = [...entries.values()].sort((one, other) => Number(other.is_directory) - Number(one.is_directory) || one.name.localeCompare(other.name, "en", { numeric: true }));
    table.show(rows, (entry) => entry.path);
    more.hidden = !cursor;
    table.node.hidden = gallery;
    pictures.hidden = !gallery;
    if (gallery) pictures.replaceChildren(galleryOf(box, rows.filter((entry) => !entry.is_directory && isImage(entry.name))));
  };
  const fetchMore = async () => {
    const page = await tool("file_list", { sandbox_id: box.id, ...(folder ? { path: folder } : {}), ...(cursor ? { cursor } : {}) });
    for (const entry of page.entries) entries.set(entry.path, entry);
    cursor = page.truncated ? page.next_cursor : "";
    show();
  };
  const load = async () => { entries.clear(); cursor = ""; await fetchMore(); };
  const uploads = chooser(box, folder, load);
  takeDropped(place, uploads.take);
  const asGallery = button("Gallery", () => { gallery = !gallery; asGallery.setAttribute("aria-pressed", String(gallery)); show(); }, { "aria-pressed": "false" });
  place.replaceChildren(crumbs(box, folder), element("div", { class: "tools" }, uploads.nodes, button("New file", () => newFile(box, folder), { disabled: !may("run") }), button("New folder", () => newFolder(box, folder, load), { disabled: !may("run") }), asGallery),
    table.node, pictures, more, note("Drop files here to upload them."));
  return { load };
}

// ---------------------------------------------------------------- a file
function editor(box, at, text, done) {
  const area = element("textarea", { class: "editor", "aria-label": `Text of ${nameOf(at)}`, spellcheck: "false" });
  area.value = text;
  const problem = element("p", { class: "bad", role: "alert" });
  const save = async () => {
    try { await upload(box, at, new Blob([area.value]), nameOf(at)); say("Saved"); await done(); } catch (refusal) { problem.textContent = refusal.message; }
  };
  area.addEventListener("keydown", (event) => { if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); save(); } });
  return [element("div", { class: "tools" }, button("Save", save, { class: "main" }), button("Cancel", done), element("span", { class: "dim" }, "Ctrl+S saves")), problem, area];
}

/// One file in `place`.
export async function viewOf(box, place, rest) {
  const at = rest.join("/"), name = nameOf(at);
  const shown = element("div");
  const show = async () => {
    const text = await preview(box, at, shown);
    edit.disabled = text === undefined || text.length > longestEdited || !may("files");
    edit.onclick = () => { shown.replaceChildren(...editor(box, at, text, () => attempt(show))); shown.querySelector("textarea").focus(); };
  };
  const edit = element("button", { type: "button", disabled: true }, "Edit");
  const leave = () => { location.hash = pageOf(box, "files", at.split("/").slice(0, -1).join("/")); };
  place.replaceChildren(crumbs(box, at), element("div", { class: "tools" }, element("a", { class: "button", href: addressOf(box, at), download: name }, "Download"), edit,
    button("Rename", () => rename(box, at, (to) => { location.hash = pageOf(box, "file", to); }), { disabled: !may("run") }),
    button("Delete the file", () => confirmed(`Delete ${name}?`, "Delete it", async () => { await removeFile(box, { path: at }); leave(); }), { class: "danger", disabled: !may("run") }), copyButton(at, "Copy the path", "Copy the path")), shown);
  return { load: show };
}
