// The packages of a sandbox: what is there, and an installation whose output is shown.

import { button, element, note, setText } from "./elements.js";
import { may, attempt, tool, toolWithOutput } from "./server.js";
import { Table, holds, search } from "./table.js";

// Those below /usr belong to the machine or the image.
const listing = `import importlib.metadata, json
print(json.dumps([[d.metadata["Name"], d.version, not str(d.locate_file("")).startswith("/usr")] for d in importlib.metadata.distributions()]))`;

/// The packages of a sandbox in `place`.
export function packagesOf(box, place) {
  let all = [], wanted = "";
  const table = new Table("Python packages", [
    { name: "Name", kind: "name", value: (each) => each.name, text: (each) => each.name },
    { name: "Version", kind: "at", value: (each) => each.version, text: (each) => each.version },
    { name: "From", value: (each) => each.own, text: (each) => each.own ? "this sandbox" : "the machine or image" },
  ], "There are no Python packages.");
  const show = () => table.show(all.filter((each) => holds(each, wanted)), (each) => `${each.name} ${each.version} ${each.own}`);
  const names = element("input", { id: "packages", "aria-label": "Packages to install", placeholder: "requests pandas==2.2", autocomplete: "off", required: true });
  const manager = element("select", { "aria-label": "Package manager" }, ["pip", "npm"].map((word) => element("option", { value: word }, word)));
  const output = element("pre", { tabIndex: 0, role: "log", "aria-label": "Output of the installation", hidden: true }), end = element("p", { role: "status" });
  const load = async () => {
    const { stdout } = await tool("execute_python_code", { sandbox_id: box.id, code: listing, max_output: 1_000_000 });
    all = JSON.parse(stdout || "[]").map(([name, version, own]) => ({ name, version, own })).sort((one, other) => Number(other.own) - Number(one.own) || String(one.name).localeCompare(other.name));
    show();
  };
  const install = async (event) => {
    event.preventDefault();
    output.hidden = false;
    output.textContent = "";
    [end.className, go.disabled] = ["", true];
    setText(end, "installs …");
    const result = await attempt(() => toolWithOutput("install_packages_in_sandbox", { sandbox_id: box.id, package_names: names.value.split(/[\s,]+/).filter(Boolean), manager: manager.value },
      (text) => { output.textContent += text; output.scrollTop = output.scrollHeight; }));
    go.disabled = false;
    if (!result) { setText(end, ""); return; }
    if (!output.textContent) output.textContent = result.output || "";
    end.className = result.success ? "good" : "bad";
    setText(end, result.success ? `Installed: ${(result.installed || []).join(", ") || "nothing new"}` : result.error || `The installation failed with exit code ${result.exit_code}.`);
    if (result.success) await attempt(load);
  };
  const go = element("button", { class: "main", disabled: !may("packages") }, "Install");
  place.replaceChildren(element("form", { class: "tools", onsubmit: install }, names, manager, go), end, output, element("div", { class: "tools" }, search("Filter by name", (text) => { wanted = text; show(); }), button("Look again", () => attempt(load))),
    table.node, note("npm packages are in node_modules of the working folder."));
  return { load };
}
