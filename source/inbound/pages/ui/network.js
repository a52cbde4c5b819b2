// The network of a sandbox: the hosts that its programs may reach, and those that somebody has decided about.

import { badge, button, byId, count, element, note, say, setText } from "./elements.js";
import { form } from "./dialogs.js";
import { fetchList } from "./nodes.js";
import { hostIn } from "./advice.js";
import { attempt, may, state, tool } from "./server.js";
import { secretsList } from "./secrets.js";
import { Table } from "./table.js";

const modes = { none: "None", hosts: "These hosts alone", ask: "These hosts, and ask the user for others" };
const about = {
  none: "Its programs reach nothing outside.",
  hosts: "Its programs reach these hosts, as far as SANDBOX_NETWORK_ALLOWED allows them too.",
  ask: "Its programs reach these hosts. For others that SANDBOX_NETWORK_ALLOWED allows the user of a run is asked.",
};

/// The network in a word; servers of an older version do not tell it.
export function networkText({ network }) {
  if (!network) return "";
  const hosts = network.hosts.length ? count(network.hosts.length, "host") : "";
  return network.mode === "ask" ? [hosts, "asks"].filter(Boolean).join(", ") : hosts || "none";
}

const decision = (row) => [badge(row.refused ? "refused" : "allowed", row.refused ? "bad" : "good"), row.by ? element("span", { class: "dim" }, ` ${row.by}`) : null];

function rowsOf({ hosts, approved, approved_for_run: forRun, refused }) {
  return [...hosts.map((host) => ({ host, refused: host.startsWith("!"), by: approved.includes(host) ? "by an answer" : "", isListed: true })),
    ...forRun.map((host) => ({ host, by: "by an answer, until the run ends" })),
    ...refused.map((host) => ({ host, refused: true, by: "by an answer, until the sandbox stops" }))];
}

// Hosts that this sandbox's network has refused lately, and does not allow meanwhile.
function refusedLately(box, hosts) {
  const denied = state.ends.filter((end) => end.sandbox_id === box.id || end.sandbox_id === box.name).flatMap((end) => end.denied.map(hostIn));
  return [...new Set(denied.filter(Boolean))].filter((host) => !hosts.includes(host) && !hosts.includes(host.replace(/:443$/, "")));
}

/// The part of a sandbox's page.
export function networkOf(box, place) {
  let shown = box.network || { mode: "none", hosts: [], approved: [], approved_for_run: [], refused: [] };
  const mayChange = () => may("web") && state.session.networks.offered;
  const sentence = element("p"), ended = element("p", { role: "status" });
  const secrets = element("div");

  const set = async (hosts, asks) => {
    const answer = await tool("set_network", { sandbox_id: box.id, allow: hosts, ...(asks ? { ask: true } : {}) });
    setText(ended, answer.note || "");
    const { sandboxes } = await fetchList("sandboxes", { match: box.id }, "*");
    update(sandboxes.find(({ id }) => id === box.id) || box);
  };
  // The button that was pressed may be gone, and the focus with it.
  const keep = async (hosts) => {
    if (await attempt(async () => { await set(hosts, shown.mode === "ask"); return true; })) say("Done");
    if (document.activeElement === document.body) byId("main").focus();
  };
  const act = ({ host, isListed }) => isListed ? button("Remove", () => keep(shown.hosts.filter((each) => each !== host)), { class: "danger", "aria-label": `Remove ${host}`, disabled: !mayChange() })
    : button("Allow", () => keep([...shown.hosts, host]), { "aria-label": `Allow ${host}`, disabled: !mayChange() });
  const table = new Table("Hosts of the network", [
    { name: "Host", kind: "line", sign: (row) => row.host, draw: (row) => element("code", {}, row.host) },
    { name: "Decision", sign: (row) => String(row.refused) + row.by, draw: decision },
    { name: "Change", kind: "acts", sign: (row) => String(row.isListed) + JSON.stringify(shown), draw: act },
  ], "The list names no host.");

  const refused = element("div");
  const showRefused = () => {
    const hosts = refusedLately(box, shown.hosts);
    if (refused.sign === hosts.join()) return;
    refused.sign = hosts.join();
    refused.replaceChildren(...(hosts.length ? [element("h3", {}, "Refused lately"), element("ul", { class: "list" }, hosts.map((host) => element("li", {}, element("code", {}, host), badge("refused", "bad"),
      button("Allow", () => keep([...shown.hosts, host]), { "aria-label": `Allow ${host}`, disabled: !mayChange() }))))] : []));
  };

  const change = () => form(`Network of ${box.name || box.id}`, "Set it", [
    { name: "mode", label: "Programs reach", value: shown.mode, options: Object.fromEntries(Object.entries(modes).filter(([mode]) => mode !== "ask" || shown.mode === "ask" || state.session.networks.ask)) },
    { name: "hosts", label: "Hosts, one a line", type: "textarea", value: shown.hosts.join("\n"),
      hint: "As example.com, *.example.com:8443 or !bad.example.com. Open connections end; with the first network, or without any more, the sandbox's programs end too." }],
  async ({ mode, hosts }) => {
    const list = hosts.split(/\s+/).filter(Boolean);
    if (mode === "hosts" && !list.length) throw new Error("Name a host, or choose None.");
    await set(mode === "none" ? [] : list, mode === "ask");
  });

  const show = () => {
    setText(sentence, about[shown.mode]);
    table.node.hidden = shown.mode === "none";
    table.show(rowsOf(shown), (row) => row.host + row.by);
    showRefused();
  };
  function update(fresh) {
    if (!fresh.network) return;
    shown = fresh.network;
    show();
  }
  const load = async () => {
    const closed = state.session.networks.offered ? null : note("Sandboxes of this server get no network: its operator allows hosts with SANDBOX_NETWORK_ALLOWED.");
    place.replaceChildren(...[closed, element("div", { class: "tools" }, button("Change the network", change, { disabled: !mayChange() })), sentence, ended, table.node, refused,
      element("h3", {}, "Secrets"), note("Its programs have placeholders of those whose hosts the network allows. Nobody sees the values."), secrets].filter(Boolean));
    show();
    secrets.replaceChildren(await secretsList(box));
  };
  return { load, update };
}
