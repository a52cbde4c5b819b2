// The history of a sandbox: its owner's latest calls, with what went in and what came out.

import { badge, button, clock, copyButton, element, note, setText } from "./elements.js";
import { columnsOf } from "./columns.js";
import { fetchList } from "./nodes.js";
import { attempt } from "./server.js";
import { Table, holds, search } from "./table.js";

const endBadge = (call) => {
  if (call.failed) return badge(call.exit_code ? `exit ${call.exit_code}` : call.cause, "bad");
  return badge(call.exit_code === 0 ? "exit 0" : "done", "good");
};

function drawCall(call) {
  const first = call.input.split("\n")[0].slice(0, 120) || call.tool;
  return element("details", {}, element("summary", {}, element("code", {}, first)), element("div", { class: "dim" }, "Input"), element("pre", { tabIndex: 0 }, call.input || "(long)"), copyButton(call.input, "Copy the input"),
    element("div", { class: "dim" }, "Output"), element("pre", { tabIndex: 0 }, call.output || "(none)"));
}

/// The calls of a sandbox in `place`.
export function historyOf(box, place) {
  let calls = [], wanted = "", onlyFailed = false;
  const table = new Table("Calls of this sandbox, newest first", () => columnsOf("calls", { draw: {
    at: { name: "At", text: (call) => clock(call.at) },
    cause: { name: "End", sign: (call) => call.cause + call.exit_code, draw: endBadge },
    input: { name: "Input and output", kind: "line", sign: (call) => String(call.at), draw: drawCall },
  }, leave: ["exit_code"] }), "No call has used this sandbox since the server started.");
  const about = element("span", { class: "dim" });
  const show = () => {
    const rows = calls.filter((call) => (!onlyFailed || call.failed) && holds(call, wanted));
    setText(about, `${rows.length} of the latest ${calls.length} calls`);
    table.show(rows, (call) => `${call.at} ${call.tool}`);
  };
  const failed = button("Failed ones", () => { onlyFailed = !onlyFailed; failed.setAttribute("aria-pressed", String(onlyFailed)); show(); }, { "aria-pressed": "false" });
  const load = async () => { ({ calls } = await fetchList("calls", { sandbox: box.id }, "*")); show(); };
  place.replaceChildren(element("div", { class: "tools" }, search("Filter by input, output, tool", (text) => { wanted = text; show(); }), failed, button("Look again", () => attempt(load)), about), table.node,
    note("The server keeps the latest 1,000 calls in its memory: 2 KiB of each input and the last 4 KiB of each output, for you alone."));
  return { load };
}
