// Secrets of sandboxes: names, hosts and places. The values are nowhere on this page.

import { ago, button, element, empty, inPath, note, query } from "./elements.js";
import { confirmed, form } from "./dialogs.js";
import { sandboxLink } from "./nodes.js";
import { ask, state } from "./server.js";
import { Table } from "./table.js";

const everybody = "*";
const whose = ({ principal, sandbox }) => principal !== everybody ? principal || "callers without a name" : sandbox ? "" : "all principals";
const concerns = (box) => ({ principal, sandbox }) => (principal === everybody || principal === box.principal) && (!sandbox || sandbox === box.id);

/// Those that the programs of a sandbox may have, as a list.
export async function secretsList(box) {
  const { secrets: all } = await ask("GET", "admin/secrets");
  const own = all.filter(concerns(box));
  if (!own.length) return empty("There is no secret for this sandbox.");
  return element("ul", { class: "list" }, own.map(({ name, hosts, place }) => element("li", {}, element("code", {}, name), element("span", {}, `for ${hosts.join(", ")}`), element("span", { class: "dim" }, place))));
}

function remove(secret) {
  const of = whose(secret) || secret.sandbox;
  return confirmed(`Remove the secret ${secret.name} of ${of}? Programs that use it are refused from now on.`, "Remove it",
    () => ask("DELETE", `admin/secrets/${inPath(secret.name)}?${query({ principal: secret.principal, sandbox: secret.sandbox })}`), () => secrets.load());
}

const places = { header: "A header", query: "A part of the query", basic: "The password of a basic login" };

function setSecret() {
  const fields = [{ name: "name", label: "Name", hint: "Of the variable that has the placeholder, as API_KEY", required: true },
    { name: "value", label: "Value", type: "password", hint: "It is kept encrypted, and shown to nobody", required: true },
    { name: "hosts", label: "Hosts", hint: "As api.example.com or *.example.com:8443, with commas between", required: true },
    { name: "place", label: "Place in requests", options: places, value: "header" },
    { name: "form", label: "Form", hint: "As Authorization: Bearer {}, as key={}, or the user of the login", required: true },
    { name: "principal", label: "Principal", hint: "Whose sandboxes have it; * for everybody's, empty for callers without a name" },
    { name: "sandbox", label: "Sandbox", hint: "The one that has it; empty: all of them" }];
  form("Set a secret", "Set it", fields, async ({ place, form: text, principal, sandbox, ...values }) => {
    const of = sandbox && !principal ? { sandbox } : { principal, sandbox };      // whoever has that sandbox
    await ask("POST", "admin/secrets", { ...values, ...of, [place]: text });
    await secrets.load();
  });
}

export const secrets = {
  title: "Secrets",
  build() {
    const isAdmin = state.session.administers_keys;
    const acts = { name: "Remove", kind: "acts", sign: (secret) => secret.created, draw: (secret) => button("Remove", () => remove(secret), { class: "danger", "aria-label": `Remove ${secret.name} of ${whose(secret) || secret.sandbox}` }) };
    this.table = new Table("Secrets of sandboxes", [
      { name: "Name", kind: "name", sign: (secret) => secret.name, draw: (secret) => element("code", {}, secret.name) },
      { name: "Of", kind: "name", sign: (secret) => secret.principal + secret.sandbox, draw: (secret) => [element("div", {}, whose(secret)), sandboxLink(secret.sandbox)] },
      { name: "Hosts", kind: "line", text: (secret) => secret.hosts.join(", ") },
      { name: "Place", kind: "line", sign: (secret) => secret.place, draw: (secret) => element("code", {}, secret.place) },
      { name: "Set", kind: "at", text: (secret) => ago(secret.created) },
      { name: "Used", kind: "at", text: (secret) => secret.last_used ? ago(secret.last_used) : "never" },
      ...(isAdmin ? [acts] : []),
    ], isAdmin ? "There is no secret." : "There is no secret for your sandboxes; administrators set them.");
    return [note("Code in sandboxes uses a secret by a placeholder. The server puts the value into requests to these hosts, in this place."),
      isAdmin ? element("div", { class: "tools" }, button("Set a secret", setSecret)) : null, this.table.node];
  },
  async load() {
    const { secrets: all } = await ask("GET", "admin/secrets");
    this.table.show(all, ({ name, principal, sandbox }) => [name, principal, sandbox].join(" "));
  },
};
