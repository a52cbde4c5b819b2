// Elements and words. Text of the server becomes text nodes and attributes, never markup.

export const byId = (id) => document.getElementById(id);

export function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else if (name in node && typeof value !== "string") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const button = (text, act, attributes) => element("button", { type: "button", onclick: act, ...attributes }, text);
export const badge = (text, kind) => element("span", { class: `badge ${kind || ""}` }, text);
export const note = (text) => element("p", { class: "dim" }, text);
export const empty = (text) => element("p", { class: "empty" }, text);

/// Sets the text only where it has changed, so that a selection stays.
export function setText(node, text) {
  const wanted = String(text ?? "");
  if (node.textContent !== wanted) node.textContent = wanted;
}

/// For screen readers alone: what an act has led to.
export function say(text) {
  byId("said").textContent = "";
  requestAnimationFrame(() => { byId("said").textContent = text; });
}

/// A sentence about what went wrong; it stays until the next act.
export function complain(text) {
  byId("notice").hidden = !text;
  byId("notice-text").textContent = text || "";
}

/// Without TLS a browser offers no clipboard, save on this machine.
export async function copy(text) {
  if (navigator.clipboard) await navigator.clipboard.writeText(text);
  else {
    const area = element("textarea", { class: "unseen", readOnly: true });
    area.value = text;
    (document.querySelector("dialog[open]") || document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say("Copied");
}

export function copyButton(text, label, word = "Copy") {
  const node = button(word, async () => {
    await copy(text);
    node.textContent = "Copied";
    setTimeout(() => { node.textContent = word; }, 1500);
  }, { "aria-label": label });
  return node;
}

const units = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(number) {
  if (number === null || number === undefined) return "";
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) { number /= 1024; unit += 1; }
  return `${unit && number < 10 ? number.toFixed(1) : Math.round(number)} ${units[unit]}`;
}

export function seconds(number) {
  if (number === null || number === undefined) return "";
  if (number < 10) return `${number.toFixed(1)} s`;
  if (number < 120) return `${Math.round(number)} s`;
  if (number < 7200) return `${Math.round(number / 60)} min`;
  return number < 172800 ? `${Math.round(number / 3600)} h` : `${Math.round(number / 86400)} d`;
}

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
export const time = (at) => typeof at === "number" ? new Date(at * 1000) : new Date(at);
export const clock = (at) => at ? time(at).toLocaleTimeString("en-GB") : "";
export const passed = (at) => Math.max(0, Date.now() / 1000 - time(at) / 1000);

export function ago(at) {
  if (!at) return "";
  return passed(at) < 2 ? "just now" : `${seconds(passed(at)).replace(/\.\d/, "")} ago`;
}

export const owner = (principal) => principal || "(everybody)";
export const inPath = encodeURIComponent;

/// Not URLSearchParams, which writes a blank as a plus.
export const query = (values) => Object.entries(values).map(([name, value]) => `${name}=${inPath(value)}`).join("&");

/// A text as one word of a shell's command.
export const shellWord = (text) => `'${text.replaceAll("'", "'\\''")}'`;
