// The screen of a terminal, as the control sequences of xterm draw it. It knows no document.

const longestHistory = 1000;   // rows
const longestSequence = 4096;
const tabWidth = 8;
const drawn = [..."◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"];   // what ` to ~ stand for while lines are drawn (DEC Special Graphics)
const plain = { classes: "", color: "", background: "" };

// The same ranges as source/shells/character_width.cpp.
const wide = [[0x1100, 0x115f], [0x231a, 0x231b], [0x23e9, 0x23ec], [0x2e80, 0x303e], [0x3041, 0x33ff], [0x3400, 0x4dbf], [0x4e00, 0x9fff], [0xa000, 0xa4cf],
  [0xa960, 0xa97f], [0xac00, 0xd7a3], [0xf900, 0xfaff], [0xfe30, 0xfe6f], [0xff00, 0xff60], [0xffe0, 0xffe6], [0x17000, 0x18cff], [0x1b000, 0x1b2ff],
  [0x1f300, 0x1f64f], [0x1f680, 0x1f6ff], [0x1f900, 0x1f9ff], [0x20000, 0x3fffd]];
const joining = [[0x0300, 0x036f], [0x0483, 0x0489], [0x0591, 0x05bd], [0x0610, 0x061a], [0x064b, 0x065f], [0x0e34, 0x0e3a], [0x1ab0, 0x1aff], [0x1dc0, 0x1dff],
  [0x200b, 0x200f], [0x202a, 0x202e], [0x20d0, 0x20ff], [0x302a, 0x302d], [0x3099, 0x309a], [0xfe00, 0xfe0f], [0xfe20, 0xfe2f], [0xfeff, 0xfeff], [0xe0100, 0xe01ef]];

const isIn = (ranges, point) => ranges.some(([first, last]) => point >= first && point <= last);

export function widthOf(character) {
  const point = character.codePointAt(0);
  if (point < 0x300) return 1;
  if (isIn(joining, point)) return 0;
  return isIn(wide, point) ? 2 : 1;
}

// The first sixteen colours are the theme's, the others those of xterm.
function colorOf(index) {
  if (index >= 232) return `rgb(${[8 + 10 * (index - 232)].flatMap((grey) => [grey, grey, grey])})`;
  const level = (step) => step ? 55 + 40 * step : 0;
  return `rgb(${[Math.floor((index - 16) / 36), Math.floor((index - 16) / 6) % 6, (index - 16) % 6].map(level)})`;
}

/// A row: a character and a style for each cell; the second cell of a wide character is "". `changed` is for who draws it.
class Row {
  constructor(columns) {
    this.characters = new Array(columns).fill(" ");
    this.styles = new Array(columns).fill(plain);
    this.changed = true;
  }
  set(column, character, style) {
    this.characters[column] = character;
    this.styles[column] = style;
    this.changed = true;
  }
  // Half of a wide character is none.
  part(column) {
    if (this.characters[column] !== "" || column === 0) return;
    this.set(column - 1, " ", this.styles[column - 1]);
    this.set(column, " ", this.styles[column]);
  }
  erase(from, to, style) {
    if (from < to) { this.part(from); this.part(to); }
    for (let column = from; column < to; ++column) this.set(column, " ", style);
  }
  insert(column, count, style) {
    const length = this.characters.length;
    this.part(column);
    this.characters.splice(column, 0, ...new Array(count).fill(" "));
    this.styles.splice(column, 0, ...new Array(count).fill(style));
    this.resize(length);
  }
  remove(column, count, style) {
    const length = this.characters.length;
    this.part(column);
    this.part(column + count);
    this.characters.splice(column, count);
    this.styles.splice(column, count);
    while (this.characters.length < length) { this.characters.push(" "); this.styles.push(style); }
    this.changed = true;
  }
  resize(columns) {
    if (this.characters[columns] === "") this.characters[columns - 1] = " ";
    while (this.characters.length < columns) { this.characters.push(" "); this.styles.push(plain); }
    this.characters.length = columns;
    this.styles.length = columns;
    this.changed = true;
  }
  text() { return this.characters.join("").trimEnd(); }
}

const rowsOf = (columns, rows) => Array.from({ length: rows }, () => new Row(columns));

export class Screen {
  /// `answer` takes what the terminal itself says to the program.
  constructor(columns, rows, answer = () => {}) {
    this.answer = answer;
    this.columns = columns;
    this.history = [];
    this.titled = "";
    this.clear(rows);
  }

  clear(rows) {
    this.rows = rowsOf(this.columns, rows);
    this.other = rowsOf(this.columns, rows);
    this.isOther = false;
    this.cursor = { row: 0, column: 0, graphics: false, style: plain };
    this.kept = { ...this.cursor };
    [this.top, this.bottom] = [0, rows - 1];
    Object.assign(this, { wraps: true, inserts: false, shows: true, applicationKeys: false, bracketsPaste: false, latest: " ", rest: "" });
  }

  resize(columns, rows) {
    this.columns = columns;
    for (const grid of [this.rows, this.other]) {
      const low = grid === this.rows ? this.cursor.row : rows - 1;
      const away = grid.splice(0, Math.max(0, low - rows + 1));
      if (grid === this.rows && !this.isOther) this.remember(away);
      grid.length = Math.min(grid.length, rows);
      for (const row of grid) row.resize(columns);
      while (grid.length < rows) grid.push(new Row(columns));
      if (grid === this.rows) this.cursor.row -= away.length;
    }
    [this.top, this.bottom] = [0, rows - 1];
    this.goTo(this.cursor.row, this.cursor.column);
    this.kept.row = Math.min(this.kept.row, rows - 1);
    this.kept.column = Math.min(this.kept.column, columns - 1);
  }

  text() { return this.rows.map((row) => `${row.text()}\n`).join(""); }

  // ---------------------------------------------------------------- the stream of characters
  write(text) {
    let all = this.rest + text, at = 0;
    this.rest = "";
    const printed = /[^\x00-\x1f\x7f]+/y;
    while (at < all.length) {
      printed.lastIndex = at;
      const run = printed.exec(all);
      if (run) { this.print(run[0]); at = printed.lastIndex; continue; }
      if (all[at] !== "\x1b") { this.control(all[at]); at += 1; continue; }
      const length = sequenceLength(all, at);
      if (length === 0 && all.length - at < longestSequence) { this.rest = all.slice(at); return; }
      if (length !== 0) this.escape(all.slice(at, at + length));
      at += Math.max(1, length);
    }
  }

  print(text) {
    for (const character of text) this.put(character);
  }

  put(character) {
    if (this.cursor.graphics && character >= "`" && character <= "~") character = drawn[character.charCodeAt(0) - 96];
    const width = Math.min(widthOf(character), this.columns);
    if (width === 0) { this.join(character); return; }
    if (this.cursor.column + width > this.columns) {
      if (this.wraps) { this.cursor.column = 0; this.lineFeed(); } else this.cursor.column = this.columns - width;
    }
    const row = this.rows[this.cursor.row], { column, style } = this.cursor;
    if (this.inserts) row.insert(column, width, style);
    row.part(column);
    row.part(column + width);
    row.set(column, character, style);
    if (width === 2) row.set(column + 1, "", style);
    this.cursor.column += width;
    this.latest = character;
  }

  join(character) {
    const row = this.rows[this.cursor.row];
    let column = this.cursor.column - 1;
    if (column > 0 && row.characters[column] === "") column -= 1;
    if (column >= 0 && row.characters[column].length < 16) row.set(column, row.characters[column] + character, row.styles[column]);
  }

  control(c) {
    switch (c) {
      case "\r": this.cursor.column = 0; break;
      case "\n": case "\v": case "\f": this.lineFeed(); break;
      case "\b": this.cursor.column = Math.max(0, this.column() - 1); break;
      case "\t": this.goTo(this.cursor.row, (Math.floor(this.cursor.column / tabWidth) + 1) * tabWidth); break;
      case "\x0e": case "\x0f": this.cursor.graphics = c === "\x0e"; break;
      default:
    }
  }

  escape(sequence) {
    switch (sequence[1]) {
      case "[": this.obey(sequence); break;
      case "]": if (/^\x1b\][02];/.test(sequence)) this.titled = sequence.slice(4).replace(/(\x07|\x1b\\)$/, "").slice(0, 200); break;
      case "(": this.cursor.graphics = sequence.endsWith("0"); break;
      case "7": this.kept = { ...this.cursor }; break;
      case "8": this.cursor = { ...this.kept }; break;
      case "D": this.lineFeed(); break;
      case "E": this.cursor.column = 0; this.lineFeed(); break;
      case "M": this.reverseLineFeed(); break;
      case "c": this.clear(this.rows.length); break;
      default:
    }
  }

  // ---------------------------------------------------------------- control sequences
  obey(sequence) {
    const [, mark, list, between, final] = /^\x1b\[([<=>?]?)([\d;:]*)([ -/]*)(.)$/s.exec(sequence) || [];
    if (final === undefined || between) return;
    const numbers = list.split(";").map((text) => text.split(":").map((part) => part === "" ? undefined : Number(part)));
    const number = (index, otherwise) => (numbers[index] || [])[0] ?? otherwise;
    const count = Math.max(1, number(0, 1));
    if (final === "h" || final === "l") this.setModes(mark, numbers.map(([mode]) => mode), final === "h");
    else if (final === "c" && mark !== "?") this.answer(mark === ">" ? "\x1b[>0;0;0c" : mark ? "" : "\x1b[?1;2c");
    else if (mark) return;
    else if (final === "m") this.setStyle(numbers);
    else if (final === "n") this.report(number(0, 0));
    else if (!this.move(final, count, number)) this.edit(final, count, number);
  }

  report(what) {
    if (what === 5) this.answer("\x1b[0n");
    if (what === 6) this.answer(`\x1b[${this.cursor.row + 1};${this.column() + 1}R`);
  }

  move(final, count, number) {
    const row = this.cursor.row, column = this.column();
    const up = (to) => this.goTo(row - Math.min(count, row - (row >= this.top ? this.top : 0)), to);
    const down = (to) => this.goTo(row + Math.min(count, (row <= this.bottom ? this.bottom : this.rows.length - 1) - row), to);
    switch (final) {
      case "A": up(column); return true;
      case "B": case "e": down(column); return true;
      case "C": case "a": this.goTo(row, column + count); return true;
      case "D": this.goTo(row, column - count); return true;
      case "E": down(0); return true;
      case "F": up(0); return true;
      case "G": case "`": this.goTo(row, count - 1); return true;
      case "d": this.goTo(count - 1, column); return true;
      case "H": case "f": this.goTo(count - 1, Math.max(1, number(1, 1)) - 1); return true;
      case "I": this.goTo(row, (Math.floor(column / tabWidth) + count) * tabWidth); return true;
      case "Z": this.goTo(row, Math.floor(Math.max(0, column - (count - 1) * tabWidth) / tabWidth) * tabWidth); return true;
      case "s": this.kept = { ...this.cursor }; return true;
      case "u": this.cursor = { ...this.kept }; return true;
      default: return false;
    }
  }

  edit(final, count, number) {
    const row = this.rows[this.cursor.row], column = this.column(), { style } = this.cursor;
    const some = Math.min(count, this.columns - column);
    const inRegion = this.cursor.row >= this.top && this.cursor.row <= this.bottom;
    switch (final) {
      case "J": this.eraseScreen(number(0, 0)); break;
      case "K": this.eraseRow(number(0, 0)); break;
      case "X": row.erase(column, column + some, style); break;
      case "@": row.insert(column, some, style); break;
      case "P": row.remove(column, some, style); break;
      case "L": if (inRegion) this.scrollDown(this.cursor.row, this.bottom, count); break;
      case "M": if (inRegion) this.scrollUp(this.cursor.row, this.bottom, count); break;
      case "S": this.scrollUp(this.top, this.bottom, count); break;
      case "T": this.scrollDown(this.top, this.bottom, count); break;
      case "b": for (let i = Math.min(count, this.columns); i > 0; --i) this.put(this.latest); break;
      case "r": this.setRegion(count, number(1, 0)); break;
      default:
    }
  }

  setModes(mark, modes, on) {
    for (const mode of modes) {
      if (mark === "" && mode === 4) this.inserts = on;
      if (mark !== "?") continue;
      if (mode === 1) this.applicationKeys = on;
      if (mode === 7) this.wraps = on;
      if (mode === 25) this.shows = on;
      if (mode === 2004) this.bracketsPaste = on;
      if ((mode === 1048 || mode === 1049) && on) this.kept = { ...this.cursor };
      if ((mode === 1048 || mode === 1049) && !on) this.cursor = { ...this.kept };
      if (mode === 47 || mode === 1047 || mode === 1049) this.useOther(on);
    }
  }

  // The screen of a full-screen program is empty when it comes.
  useOther(other) {
    if (this.isOther === other) return;
    this.isOther = other;
    [this.rows, this.other] = [this.other, this.rows];
    if (other) this.rows = rowsOf(this.columns, this.rows.length);
  }

  setStyle(numbers) {
    let style = { ...this.cursor.style, flags: new Set((this.cursor.style.classes || "").split(" ").filter(Boolean)) };
    const without = (pattern) => { for (const each of style.flags) if (pattern.test(each)) style.flags.delete(each); };
    const named = { 1: "bold", 2: "faint", 3: "italic", 4: "under", 7: "turned", 8: "hidden", 9: "struck" };
    for (let i = 0; i < numbers.length; ++i) {
      const [code = 0, ...parts] = numbers[i];
      if (code === 0) style = { ...plain, flags: new Set() };
      else if (named[code]) { if (code === 4 && parts[0] === 0) style.flags.delete("under"); else style.flags.add(named[code]); }
      else if (code === 21 || code === 22) without(/^(bold|faint)$/);
      else if (named[code - 20]) style.flags.delete(named[code - 20]);
      else if (code === 38 || code === 48) {
        const [kind, ...values] = parts.length ? parts : numbers.slice(i + 1).map(([value]) => value);
        if (!parts.length) i += kind === 5 ? 2 : kind === 2 ? 4 : 0;
        const rgb = values.length > 3 && parts.length ? values.slice(-3) : values.slice(0, 3);
        if (kind === 5) setColor(code === 38 ? "f" : "b", values[0] ?? 0);
        else if (kind === 2) setColor(code === 38 ? "f" : "b", `rgb(${rgb.map((value) => Math.min(255, value ?? 0))})`);
      }
      else if (code >= 30 && code <= 37) setColor("f", code - 30);
      else if (code >= 40 && code <= 47) setColor("b", code - 40);
      else if (code >= 90 && code <= 97) setColor("f", code - 82);
      else if (code >= 100 && code <= 107) setColor("b", code - 92);
      else if (code === 39) setColor("f", "");
      else if (code === 49) setColor("b", "");
    }
    function setColor(letter, value) {
      without(new RegExp(`^${letter}\\d+$`));
      const name = letter === "f" ? "color" : "background";
      style[name] = "";
      if (typeof value === "number" && value < 16) style.flags.add(letter + value);
      else style[name] = typeof value === "number" ? colorOf(Math.min(255, value)) : value;
    }
    this.cursor.style = { classes: [...style.flags].join(" "), color: style.color, background: style.background };
  }

  // ---------------------------------------------------------------- rows
  column() { return Math.min(this.cursor.column, this.columns - 1); }

  goTo(row, column) {
    this.cursor.row = Math.max(0, Math.min(row, this.rows.length - 1));
    this.cursor.column = Math.max(0, Math.min(column, this.columns - 1));
  }

  lineFeed() {
    if (this.cursor.row === this.bottom) this.scrollUp(this.top, this.bottom, 1);
    else if (this.cursor.row < this.rows.length - 1) this.cursor.row += 1;
  }

  reverseLineFeed() {
    if (this.cursor.row === this.top) this.scrollDown(this.top, this.bottom, 1);
    else if (this.cursor.row > 0) this.cursor.row -= 1;
  }

  scrollUp(top, bottom, count) {
    const away = this.rows.splice(top, Math.min(count, bottom - top + 1));
    this.rows.splice(bottom + 1 - away.length, 0, ...rowsOf(this.columns, away.length));
    if (top === 0 && !this.isOther) this.remember(away);
  }

  scrollDown(top, bottom, count) {
    const some = Math.min(count, bottom - top + 1);
    this.rows.splice(bottom + 1 - some, some);
    this.rows.splice(top, 0, ...rowsOf(this.columns, some));
  }

  remember(rows) {
    this.history.push(...rows);
    if (this.history.length > 2 * longestHistory) this.history.splice(0, this.history.length - longestHistory);
  }

  eraseScreen(kind) {
    if (kind === 3) { this.history.length = 0; return; }
    if (kind !== 2) this.eraseRow(kind);
    const first = kind === 0 ? this.cursor.row + 1 : 0, end = kind === 1 ? this.cursor.row : this.rows.length;
    for (let row = first; row < end; ++row) this.rows[row].erase(0, this.columns, this.cursor.style);
  }

  eraseRow(kind) {
    const column = this.column();
    this.rows[this.cursor.row].erase(kind === 0 ? column : 0, kind === 1 ? column + 1 : this.columns, this.cursor.style);
  }

  setRegion(top, bottom) {
    if (bottom === 0 || bottom > this.rows.length) bottom = this.rows.length;
    if (top >= bottom) return;
    [this.top, this.bottom] = [top - 1, bottom - 1];
    this.goTo(0, 0);
  }
}

// The length of the escape sequence at a place; 0: its end is not there yet.
function sequenceLength(text, at) {
  const kind = text[at + 1];
  if (kind === undefined) return 0;
  if (kind === "[") {
    const end = /[@-~]/g;
    end.lastIndex = at + 2;
    const found = end.exec(text);
    return found ? found.index + 1 - at : 0;
  }
  if ("]PX^_".includes(kind)) {
    const end = /\x07|\x1b\\/g;
    end.lastIndex = at + 2;
    const found = end.exec(text);
    return found ? found.index + found[0].length - at : 0;
  }
  if (kind >= " " && kind <= "/") {
    let length = 2;
    while (text[at + length] >= " " && text[at + length] <= "/") length += 1;
    return at + length < text.length ? length + 1 : 0;
  }
  return 2;
}
