// The ports of a sandbox that are shown: their links, and what listens there in a frame of this page.

import { badge, button, clock, copyButton, element, empty } from "./elements.js";
import { confirmed, form } from "./dialogs.js";
import { may, tool } from "./server.js";

// The pages of programs have an origin of their own: none, or that of MCP_PREVIEW_DOMAIN.
function frameOf(port, url) {
  const isApart = new URL(url).origin !== location.origin;
  return element("iframe", { class: "shown tall", title: `Port ${port}`, src: url, referrerpolicy: "no-referrer", sandbox: `allow-scripts allow-forms${isApart ? " allow-same-origin" : ""}` });
}

/// The ports of a sandbox in `place`.
export function portsOf(box, place) {
  const frame = element("div");
  let framed = 0;
  const showHere = ({ port, url }) => {
    framed = framed === port ? 0 : port;
    frame.replaceChildren(...(framed ? [element("div", { class: "tools" }, element("b", {}, `Port ${port}`), button("Load again", () => frame.lastChild.replaceWith(frameOf(port, url))), button("Close", () => { framed = 0; frame.replaceChildren(); })), frameOf(port, url)] : []));
  };
  const row = (shown, load) => {
    const { port, url, listening, expires } = shown;
    return element("li", {}, element("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, `Port ${port}`), badge(listening ? "a program listens" : "nothing listens", listening ? "good" : "warn"),
      element("span", { class: "dim" }, `until ${clock(expires)}`), button("Show here", () => showHere(shown), { "aria-label": `Show here: port ${port}` }), copyButton(url, `Copy the link of port ${port}`, "Copy the link"),
      button("Withdraw", () => confirmed(`Withdraw the link to port ${port}?`, "Withdraw it", () => tool("unexpose_port", { sandbox_id: box.id, port }), load), { class: "danger", "aria-label": `Withdraw port ${port}` }));
  };
  const list = element("div");
  const load = async () => {
    const { exposed, listening } = await tool("list_exposed_ports", { sandbox_id: box.id });
    const further = listening.filter((port) => !exposed.some((shown) => shown.port === port));
    const show = () => form("Show a port", "Show it", [{ name: "port", label: "Port", hint: "Whoever has the link reaches what listens there", type: "number", required: true, value: further[0] }],
      async ({ port }) => { await tool("expose_port", { sandbox_id: box.id, port: Number(port) }); await load(); });
    if (framed && !exposed.some(({ port }) => port === framed)) { framed = 0; frame.replaceChildren(); }
    list.replaceChildren(element("div", { class: "tools" }, button("Show a port", show, { disabled: !may("run") }), further.length ? element("span", { class: "dim" }, `Programs listen at ${further.join(", ")}, too.`) : null),
      exposed.length ? element("ul", { class: "list" }, exposed.map((port) => row(port, load))) : empty("No port is shown."));
  };
  place.replaceChildren(list, frame);
  return { load };
}
