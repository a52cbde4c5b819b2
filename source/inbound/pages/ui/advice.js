// Advice for failures, by what programs and tools usually say. One rule a line: the first that fits is told.

import { element, inPath } from "./elements.js";

// The part of a sandbox's page that helps, where one does.
const rules = [
  [/ModuleNotFoundError: No module named '([\w.]+)'/, (name) => `Install ${name.split(".")[0]} in the sandbox, or spell the name as its package does.`, "packages"],
  [/(?:bash|sh): (?:line \d+: )?([\w./+-]+): command not found|([\w./+-]+): not found$/m, (name) => `The program ${name} is not there: choose an image that has it, or install it.`, "packages"],
  [/No matching distribution found|Could not find a version that satisfies/, () => "The package has another name, no version for this Python, or its index is not reached: see the connections under Network.", "packages"],
  [/MemoryError|Cannot allocate memory|std::bad_alloc/, () => "It wanted more memory than its limit: work on a part of the data at a time, or raise the limit."],
  [/No space left on device|Disk quota exceeded/, () => "The sandbox is full: delete files, or raise its quota.", "files"],
  [/SyntaxError|IndentationError/, () => "The code is not valid Python: the last lines say where."],
  [/FileNotFoundError|No such file or directory/, () => "A path is wrong: relative ones begin in the working folder.", "files"],
  [/Permission denied|Read-only file system/, () => "Programs write to the working folder and to /tmp alone."],
  [/Resource temporarily unavailable|can't start new thread|fork: retry/, () => "It wanted more processes or threads than its limit."],
  [/Temporary failure in name resolution|Network is unreachable|Tunnel connection failed/, () => "The sandbox's network does not reach that host: allow it there.", "network"],
];
const byCause = {
  timeout: "Give it a longer timeout, or run it in the background.",
  memory_limit: "It used more memory than its limit: work on a part of the data at a time, or raise the limit.",
  process_limit: "It started more processes than its limit.",
  InvalidArgument: "The caller sends arguments that the tool does not take; the sentence says which.",
};

/// The host of a denied connection that a sandbox's network would allow; undefined: it is another matter.
export const hostIn = (text) => (/^(\S{1,260}) is refused: it is not in the sandbox's network/.exec(text) || [])[1];

/// A sentence about what helps, with a link to where; null: none is known.
export function adviceFor({ cause, last_lines: lines = "", sentence = "", sandbox_id: id }) {
  const text = `${lines}\n${sentence}`;
  for (const [pattern, tell, part] of rules) {
    const found = pattern.exec(text);
    if (!found) continue;
    const link = part && id ? element("a", { href: `#sandboxes/${inPath(id)}/${part}` }, `Open its ${part}`) : null;
    return element("div", { class: "advice" }, tell(found[1] || found[2] || ""), " ", link);
  }
  return byCause[cause] ? element("div", { class: "advice" }, byCause[cause]) : null;
}
