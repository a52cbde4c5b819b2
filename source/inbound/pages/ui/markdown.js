// Markdown as nodes: headings, paragraphs, lists, quotes, tables, code, links and images. Markup in it stays text. The texts are hostile:
// every expression here is linear in the length of a line, or looks at a bounded part of it.

import { element } from "./elements.js";
import { highlighted, languageOf } from "./highlight.js";

const inline = /(?<code>`[^`\n]+`)|(?<image>!\[[^\]\n]{0,300}\]\([^)\s]{1,300}\))|(?<link>\[[^\]\n]{1,300}\]\([^)\s]{1,300}\))|(?<strong>\*\*[^*\n]{1,300}\*\*)|(?<em>\*[^*\s][^*\n]{0,300}\*|\b_[^_\n]{1,300}_\b)|(?<address>https?:\/\/[^\s<>()]{1,300})/g;
const pair = (text) => /^!?\[([^]*)\]\(([^]*)\)$/.exec(text).slice(1);

function link(text, address, resolve) {
  if (/^(https?:|mailto:)/i.test(address)) return element("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, text);
  const own = /^[a-z][a-z0-9+.-]*:|^\/\/|^#/i.test(address) ? null : resolve(address);
  return own ? element("a", { href: own.page }, text) : element("span", {}, text);
}

function picture(text, address, resolve) {
  const own = /^[a-z][a-z0-9+.-]*:|^\/\//i.test(address) ? null : resolve(address);
  return own ? element("img", { class: "picture", src: own.file, alt: text }) : link(text || address, address, resolve);
}

function spans(text, resolve) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(inline)) {
    nodes.push(text.slice(from, found.index));
    from = found.index + found[0].length;
    const { code, image, link: linked, strong, em, address } = found.groups;
    if (code) nodes.push(element("code", {}, code.slice(1, -1)));
    else if (image) nodes.push(picture(...pair(image), resolve));
    else if (linked) nodes.push(link(...pair(linked), resolve));
    else if (strong) nodes.push(element("strong", {}, strong.slice(2, -2)));
    else if (em) nodes.push(element("em", {}, em.slice(1, -1)));
    else nodes.push(link(address, address, resolve));
  }
  return [...nodes, text.slice(from)].filter((node) => node !== "");
}

const cellsOf = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
const isRule = (line) => /^[\s:|-]+$/.test(line) && line.includes("-") && line.includes("|");
const item = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const begins = (line) => /^\s*$|^#{1,6} |^\s*(```|~~~)|^\s*>/.test(line) || item.test(line);

// Lines of a list, by their indent: deeper ones are lists within.
function list(lines, resolve) {
  const [, indent, number] = item.exec(lines[0]);
  const node = element(number ? "ol" : "ul", number ? { start: Number(number) } : {});
  for (let i = 0; i < lines.length;) {
    const found = item.exec(lines[i]);
    let end = i + 1;
    while (end < lines.length && !(item.test(lines[end]) && item.exec(lines[end])[1].length <= indent.length)) end += 1;
    const inner = lines.slice(i + 1, end), first = inner.findIndex((line) => item.test(line));
    const more = first < 0 ? inner : inner.slice(0, first);
    node.append(element("li", {}, spans([found ? found[3] : lines[i], ...more].join(" "), resolve), first < 0 ? null : list(inner.slice(first), resolve)));
    i = end;
  }
  return node;
}

function table(lines, resolve) {
  const [head, , ...rows] = lines.map(cellsOf);
  return element("div", { class: "scrolls", tabIndex: 0, role: "region", "aria-label": "Table" }, element("table", { class: "data" }, element("thead", {}, element("tr", {}, head.map((cell) => element("th", { scope: "col" }, spans(cell, resolve))))),
    element("tbody", {}, rows.map((row) => element("tr", {}, head.map((_, index) => element("td", {}, spans(row[index] || "", resolve))))))));
}

/// `resolve(path)`: {page, file} of a path that the text names, relative to it.
export function markdown(text, resolve = () => null, depth = 0) {
  const lines = text.replaceAll("\r\n", "\n").split("\n"), nodes = [];
  let level = 3;   // of the heading before: the page's own ones end with it, and none is left out
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    let end = i + 1;
    const fence = /^\s*(```|~~~)\s*([\w+-]*)/.exec(line), heading = /^(#{1,6}) +(.*)$/.exec(line);
    if (!line.trim()) { i = end; continue; }
    if (fence) {
      while (end < lines.length && !lines[end].trim().startsWith(fence[1])) end += 1;
      nodes.push(element("pre", { class: "text", tabIndex: 0 }, highlighted(lines.slice(i + 1, end).join("\n"), languageOf(fence[2]))));
      end += 1;
    } else if (heading) {
      level = Math.min(6, heading[1].length + 3, level + 1);
      nodes.push(element(`h${level}`, {}, spans(heading[2], resolve)));
    }
    else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) nodes.push(element("hr"));
    else if (/^\s*>/.test(line)) {
      while (end < lines.length && /^\s*>/.test(lines[end])) end += 1;
      const inner = lines.slice(i, end).map((each) => each.replace(/^\s*> ?/, "")).join("\n");
      nodes.push(element("blockquote", {}, depth < 8 ? markdown(inner, resolve, depth + 1) : inner));
    } else if (item.test(line)) {
      while (end < lines.length && (item.test(lines[end]) || /^\s+\S/.test(lines[end]))) end += 1;
      nodes.push(depthOf(lines, i, end) > 8 ? element("pre", {}, lines.slice(i, end).join("\n")) : list(lines.slice(i, end), resolve));
    } else if (line.includes("|") && isRule(lines[end] || "")) {
      end += 1;
      while (end < lines.length && lines[end].includes("|")) end += 1;
      nodes.push(table(lines.slice(i, end), resolve));
    } else {
      while (end < lines.length && !begins(lines[end])) end += 1;
      nodes.push(element("p", {}, spans(lines.slice(i, end).join(" "), resolve)));
    }
    i = end;
  }
  return nodes;
}

// A hostile list is nested as deeply as it has lines.
const depthOf = (lines, from, end) => new Set(lines.slice(from, end).map((line) => (item.exec(line) || ["", ""])[1].length)).size;
