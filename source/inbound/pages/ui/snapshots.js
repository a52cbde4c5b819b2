// The snapshots of a sandbox.

import { button, bytes, element, empty } from "./elements.js";
import { confirmed, form } from "./dialogs.js";
import { may, tool } from "./server.js";

/// The snapshots of a sandbox in `place`.
export function snapshotsOf(box, place) {
  const act = (values) => tool("snapshot_sandbox", { sandbox_id: box.id, ...values });
  const row = (each, load) => element("li", {}, element("b", {}, each.name), " ", element("span", { class: "dim" }, `${new Date(each.created).toLocaleString()}, ${bytes(each.disk_bytes)}`), " ",
    button("Restore", () => confirmed(`Put ${box.name} back to ${each.name}? All that runs in it ends, and what was changed since is lost.`, "Restore it",
      () => tool("restore_sandbox", { sandbox_id: box.id, snapshot: each.snapshot_id }), load), { "aria-label": `Restore ${each.name}` }), " ",
    button("Delete", () => confirmed(`Delete the snapshot ${each.name}?`, "Delete it", () => act({ action: "delete", name: each.snapshot_id }), load), { class: "danger", "aria-label": `Delete ${each.name}` }));
  const load = async () => {
    const { snapshots } = await act({ action: "list" });
    place.replaceChildren(element("div", { class: "tools" }, button("Take a snapshot", () => form("Take a snapshot", "Take it", [{ name: "name", label: "Name", hint: "May be left empty" }],
      async ({ name }) => { await act(name ? { name } : {}); await load(); }), { disabled: !may("sandboxes") })),
    snapshots.length ? element("ul", { class: "list" }, snapshots.map((each) => row(each, load))) : empty("There is no snapshot."));
  };
  return { load };
}
