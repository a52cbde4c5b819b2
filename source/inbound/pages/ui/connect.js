// How clients reach this server: the lines that `container-mcp connect` writes into their files.

import { copyButton, element, note } from "./elements.js";
import { ask, state } from "./server.js";

const placeOfKey = "YOUR-KEY";

/// A choice of clients, and the lines of the chosen one. `key`: it stands in them; else they have a place for one where one is needed.
export async function connecting(key) {
  const { url, clients } = await ask("GET", key ? "ui/clients?with_key=1" : "ui/clients");
  const shown = element("div");
  const show = (name) => {
    const client = clients.find((each) => each.name === name), text = key ? client.text.replaceAll(placeOfKey, key) : client.text;
    const command = `container-mcp connect ${client.name}`;
    shown.replaceChildren(...[key ? null : element("p", {}, "On the machine of the server: ", element("code", {}, command), " ", copyButton(command, `Copy the command for ${client.title}`)),
      element("p", {}, key ? "In " : "Or by hand, in ", element("code", {}, client.file), ": ", copyButton(text, `Copy the lines for ${client.title}`)),
      element("pre", { tabIndex: 0 }, text), note(client.afterwards)].filter(Boolean));
  };
  const choice = element("select", { "aria-label": "Client", onchange: ({ target }) => show(target.value) }, clients.map(({ name, title }) => element("option", { value: name }, title)));
  show(clients[0].name);
  return [element("p", {}, "Address: ", element("code", {}, url), " ", copyButton(url, "Copy the address")),
    state.session.named && !key ? element("p", {}, "Callers need a key in place of YOUR-KEY: ", element("a", { href: "#principals" }, "make one under Principals"), ".") : null, element("div", { class: "tools" }, choice), shown].filter(Boolean);
}
