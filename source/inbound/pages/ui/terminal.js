// A shell of a sandbox: its WebSocket, its screen, its keys.

import { button, copy, element, query } from "./elements.js";
import { Screen } from "./screen.js";
import { may, state } from "./server.js";

const longestMessage = 32 * 1024;   // bytes; the server takes twice as many
const mostSaid = 600;               // characters of output at once, for a screen reader

const keys = { Enter: "\r", Tab: "\t", Escape: "\x1b", Backspace: "\x7f", Delete: "\x1b[3~", Insert: "\x1b[2~", PageUp: "\x1b[5~", PageDown: "\x1b[6~",
  F1: "\x1bOP", F2: "\x1bOQ", F3: "\x1bOR", F4: "\x1bOS", F5: "\x1b[15~", F6: "\x1b[17~", F7: "\x1b[18~", F8: "\x1b[19~", F9: "\x1b[20~", F10: "\x1b[21~" };
const moving = { ArrowUp: "A", ArrowDown: "B", ArrowRight: "C", ArrowLeft: "D", Home: "H", End: "F" };

/// What a key sends, as xterm does it; undefined: it is the browser's.
function bytesOf(event, screen) {
  const { key } = event;
  if (event.metaKey || (event.ctrlKey && event.shiftKey) || (event.shiftKey && key === "Tab")) return undefined;
  if (event.ctrlKey && key.length === 1) {
    const letter = key.toUpperCase();
    if (letter === " " || letter === "@") return "\0";
    return letter >= "A" && letter <= "_" ? String.fromCharCode(letter.charCodeAt(0) & 31) : undefined;
  }
  const before = event.altKey ? "\x1b" : "";
  if (moving[key]) {
    const held = 1 + (event.shiftKey ? 1 : 0) + (event.altKey ? 2 : 0) + (event.ctrlKey ? 4 : 0);
    if (held > 1) return `\x1b[1;${held}${moving[key]}`;
    return (screen.applicationKeys ? "\x1bO" : "\x1b[") + moving[key];
  }
  if (keys[key]) return before + keys[key];
  return event.altKey && !event.ctrlKey && key.length === 1 && key.charCodeAt(0) < 128 ? before + key : undefined;
}

// ---------------------------------------------------------------- drawing
function spanOf(text, style, more) {
  if (!style.classes && !style.color && !style.background && !more) return document.createTextNode(text);
  const span = element("span", { class: `${style.classes} ${more}`.trim() || null }, text);
  if (style.color) span.style.color = style.color;
  if (style.background) span.style.backgroundColor = style.background;
  return span;
}

function draw(row, cursor) {
  if (!row.node) row.node = element("div");
  const nodes = [];
  for (let from = 0; from < row.characters.length;) {
    let to = from + 1;
    while (to < row.characters.length && row.styles[to] === row.styles[from] && to !== cursor && from !== cursor) to += 1;
    if (row.characters[to] === "") to += 1;
    nodes.push(spanOf(row.characters.slice(from, to).join(""), row.styles[from], from === cursor ? "cursor" : ""));
    from = to;
  }
  row.node.replaceChildren(...nodes);
  row.changed = false;
}

class Terminal {
  constructor(box) {
    this.box = box;
    this.rows = element("div", { class: "screen-rows" });
    this.input = element("textarea", { class: "screen-input", "aria-label": `Terminal of ${box.name}`, "aria-describedby": "screen-keys", autocapitalize: "off", autocomplete: "off", spellcheck: false, rows: 1 });
    this.view = element("div", { class: "screen", onclick: () => { if (!String(getSelection())) this.input.focus({ preventScroll: true }); } }, this.rows, this.input);
    this.live = element("div", { class: "unseen", role: "log", "aria-label": "Output" });
    this.state = element("span", { class: "dim", role: "status" });
    this.again = button("Open another shell", () => this.open(), { hidden: true });
    this.listen();
    const key = (name, text, label) => button(name, () => { this.send(typeof text === "function" ? text() : text); this.input.focus(); }, { "aria-label": label });
    const arrow = (letter) => () => (this.screen.applicationKeys ? "\x1bO" : "\x1b[") + letter;
    this.node = [element("div", { class: "tools" }, this.state, this.again), this.view,
      element("div", { class: "tools touch" }, key("Esc", "\x1b"), key("Tab", "\t"), key("^C", "\x03", "Control C"), key("^D", "\x04", "Control D"), key("^Z", "\x1a", "Control Z"),
        key("↑", arrow("A"), "Up"), key("↓", arrow("B"), "Down"), key("←", arrow("D"), "Left"), key("→", arrow("C"), "Right")),
      element("p", { class: "dim", id: "screen-keys" }, "Keys go to the shell while the terminal has the focus; Shift+Tab leaves it. Ctrl+C copies where text is selected, and interrupts otherwise."), this.live];
  }

  listen() {
    this.input.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      const selection = String(getSelection());
      if (event.ctrlKey && event.key.toLowerCase() === "c" && selection) { copy(selection); getSelection().removeAllRanges(); this.input.focus(); event.preventDefault(); return; }
      if (event.ctrlKey && event.key.toLowerCase() === "v") return;   // the browser pastes
      const bytes = bytesOf(event, this.screen);
      if (bytes === undefined) return;
      event.preventDefault();
      this.send(bytes);
    });
    this.input.addEventListener("input", (event) => {
      if (event.isComposing) return;
      this.send(this.input.value.replaceAll("\n", "\r"));
      this.input.value = "";
    });
    this.input.addEventListener("compositionend", () => { this.send(this.input.value); this.input.value = ""; });
    this.input.addEventListener("paste", (event) => { this.paste(event.clipboardData.getData("text")); event.preventDefault(); });
    this.input.addEventListener("focus", () => this.view.classList.add("focused"));
    this.input.addEventListener("blur", () => this.view.classList.remove("focused"));
  }

  paste(text) {
    const lines = text.replace(/\r?\n/g, "\r");
    this.send(this.screen.bracketsPaste ? `\x1b[200~${lines.replaceAll("\x1b", "")}\x1b[201~` : lines);
  }

  send(text) {
    if (!this.socket || this.socket.readyState !== WebSocket.OPEN || !text) return;
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length; at += longestMessage) this.socket.send(bytes.subarray(at, at + longestMessage));
    this.follows = true;
  }

  // ---------------------------------------------------------------- size
  fitting() {
    const probe = element("span", { class: "probe" }, "0".repeat(100));
    this.view.append(probe);
    const { width } = probe.getBoundingClientRect(), inside = getComputedStyle(this.view);
    probe.remove();
    const height = parseFloat(inside.lineHeight);
    const room = (all, before, after) => all - parseFloat(before) - parseFloat(after);
    const between = (least, number, most) => Math.max(least, Math.min(most, Math.floor(number) || least));
    return { cols: between(20, room(this.view.clientWidth, inside.paddingLeft, inside.paddingRight) / (width / 100), 300),
      rows: between(5, room(this.view.clientHeight, inside.paddingTop, inside.paddingBottom) / height, 120) };
  }

  resize() {
    const { cols, rows } = this.fitting();
    if (cols === this.screen.columns && rows === this.screen.rows.length) return;
    this.screen.resize(cols, rows);
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ resize: { cols, rows } }));
    this.drawSoon();
  }

  // ---------------------------------------------------------------- connection
  open() {
    const { cols, rows } = this.fitting();
    this.screen = new Screen(cols, rows, (text) => this.send(text));
    this.decoder = new TextDecoder();
    this.follows = true;
    this.rows.replaceChildren();
    this.again.hidden = true;
    this.state.textContent = "Opening a shell…";
    const address = new URL(`sandbox/shell?${query({ sandbox_id: this.box.id, cols, rows })}`, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    address.hash = "";
    // A page cannot send fields with a WebSocket, so the proof comes as a protocol.
    const socket = this.socket = new WebSocket(address, ["cmcp.shell", ...(state.session.csrf ? [`cmcp.csrf.${state.session.csrf}`] : [])]);
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => { this.state.textContent = ""; this.input.focus({ preventScroll: true }); this.resize(); });
    socket.addEventListener("message", ({ data }) => { if (socket === this.socket) this.receive(data); });
    socket.addEventListener("close", (event) => { if (socket === this.socket) this.ended(event); });
    this.drawSoon();
  }

  receive(data) {
    if (typeof data === "string") { this.refusal = JSON.parse(data).error; return; }
    const text = this.decoder.decode(data, { stream: true });
    this.screen.write(text);
    this.heard = ((this.heard || "") + text).slice(-4 * mostSaid);
    this.drawSoon();
  }

  ended({ reason }) {
    let end = {};
    try { end = JSON.parse(reason); } catch { end = {}; }
    const sentence = this.refusal || (end.cause === "exited" ? `The shell has ended with exit code ${end.exit_code}.` : end.cause ? `The shell has ended: ${end.cause}.` : reason || "The connection has ended.");
    this.refusal = "";
    this.state.textContent = sentence;
    this.again.hidden = false;
  }

  leave() {
    this.left = true;
    this.observer.disconnect();
    const { socket } = this;
    this.socket = null;
    socket.close();
  }

  // ---------------------------------------------------------------- what is seen
  drawSoon() {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => { this.drawing = false; if (!this.left) this.drawNow(); });
    if (!this.saying) this.saying = setTimeout(() => { this.saying = 0; this.sayOutput(); }, 700);
  }

  drawNow() {
    const { screen, view } = this;
    if (view.scrollTop + view.clientHeight >= view.scrollHeight - 8) this.follows = true;
    const rows = screen.isOther ? screen.rows : [...screen.history, ...screen.rows];
    const cursorRow = screen.rows[screen.cursor.row];
    for (const row of rows) {
      const cursor = row === cursorRow && screen.shows ? screen.column() : -1;
      if (row.changed || row.cursor !== cursor) { row.cursor = cursor; draw(row, cursor); }
    }
    const wanted = new Set(rows.map((row) => row.node));
    for (const node of [...this.rows.children]) if (!wanted.has(node)) node.remove();
    let place = this.rows.firstChild;
    for (const { node } of rows) {
      if (node === place) place = place.nextSibling;
      else this.rows.insertBefore(node, place);
    }
    if (this.follows) view.scrollTop = view.scrollHeight;
    this.follows = false;
  }

  // Whole lines alone, and the latest of many: nobody listens to a thousand.
  sayOutput() {
    const lines = (this.heard || "").replace(/\x1b(\[[^@-~]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|.)/g, "").replace(/[^\n\x20-\uffff]/g, "").slice(-mostSaid);
    this.heard = "";
    if (!lines.trim() || this.screen.isOther) return;
    this.live.append(element("div", {}, lines));
    while (this.live.children.length > 5) this.live.firstChild.remove();
  }
}

export function terminalOf(box, place) {
  const terminal = new Terminal(box);
  if (!may("run")) return { load() { place.textContent = "A shell needs the scope mcp:run, which your credentials do not have."; } };
  return {
    load() {
      place.replaceChildren(...terminal.node);
      terminal.open();
      terminal.observer = new ResizeObserver(() => terminal.resize());
      terminal.observer.observe(terminal.view);
    },
    leave: () => { if (terminal.observer) terminal.leave(); },
  };
}
