// Colours for source text: comments, strings, numbers and words of the language. Linear in the length of the text.

import { element } from "./elements.js";

const words = (text) => new Set(text.split(" "));
const likeC = "if else for while do switch case default break continue return struct enum union static const void int char bool true false null class public private protected new this try catch throw import export function var let async await interface type extends implements package func go defer chan map range nil fn mut impl pub use mod match trait where self static_cast auto namespace using template typename virtual override final in of typeof instanceof delete yield from as";
const languages = {
  python: { comment: "#", triple: true, words: words("and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield match case self") },
  shell: { comment: "#", words: words("if then else elif fi for while until do done case esac in function return local export set unset echo exit cd test source trap shift true false") },
  c: { comment: "//", block: true, template: true, words: words(likeC) },
  sql: { comment: "--", block: true, ignoreCase: true, words: words("select from where and or not in is null insert into values update set delete create table drop alter index view join left right inner outer on group by order having limit offset union as distinct case when then else end primary key foreign references default count sum") },
  config: { comment: "#", words: words("true false null yes no on off") },
  json: { words: words("true false null") },
  css: { block: true, words: words("important media") },
};
const byEnding = { py: "python", pyi: "python", sh: "shell", bash: "shell", zsh: "shell", dockerfile: "shell", js: "c", mjs: "c", cjs: "c", ts: "c", tsx: "c", jsx: "c", c: "c", h: "c", cc: "c", cpp: "c", hpp: "c", java: "c", go: "c",
  rs: "c", kt: "c", swift: "c", cs: "c", php: "c", scala: "c", sql: "sql", yaml: "config", yml: "config", toml: "config", ini: "config", cfg: "config", conf: "config", r: "python", rb: "python", pl: "python", makefile: "shell", mk: "shell",
  json: "json", jsonl: "json", ipynb: "json", css: "css", bash_session: "shell", python: "python", shell: "shell", javascript: "c", typescript: "c", console: "shell", rust: "c" };

export const languageOf = (name) => byEnding[(/([^./]+)$/.exec(name) || ["", ""])[1].toLowerCase()];

function expressionFor({ comment, block, triple, template }) {
  const parts = [];
  if (triple) parts.push('(?<string3>"""[^]*?(?:"""|$)|\'\'\'[^]*?(?:\'\'\'|$))');
  if (block) parts.push("(?<block>/\\*[^]*?(?:\\*/|$))");
  if (comment) parts.push(`(?<comment>${comment}.*)`);
  if (template) parts.push("(?<template>`(?:[^`\\\\]|\\\\[^])*`?)");
  parts.push("(?<string>\"(?:[^\"\\\\\\n]|\\\\.)*\"?|'(?:[^'\\\\\\n]|\\\\.)*'?)", "(?<number>\\b\\d[\\w.]*)", "(?<word>[A-Za-z_]\\w*)");
  return new RegExp(parts.join("|"), "g");
}

const kindOf = ({ string, string3, template, number, comment, block }) => comment ?? block ? "hl-comment" : string ?? string3 ?? template ? "hl-string" : number ? "hl-number" : "hl-word";

/// The text as nodes. `language`: of languageOf(); undefined: plain.
export function highlighted(text, language) {
  const rules = languages[language];
  if (!rules) return [document.createTextNode(text)];
  const nodes = [], expression = expressionFor(rules);
  let from = 0;
  for (const found of text.matchAll(expression)) {
    const { word } = found.groups;
    if (word && !rules.words.has(rules.ignoreCase ? word.toLowerCase() : word)) continue;
    if (found.index > from) nodes.push(document.createTextNode(text.slice(from, found.index)));
    nodes.push(element("span", { class: kindOf(found.groups) }, found[0]));
    from = found.index + found[0].length;
  }
  nodes.push(document.createTextNode(text.slice(from)));
  return nodes;
}
