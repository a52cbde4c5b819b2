// Ten tasks of a person at /ui, in a real browser: from the first sandbox to a run that failed, each seen to its end.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { PHONE, barriers, call, get, live, open_page, overhang, picture, start_browser } from "../lib/browser.mjs";
import { test, until } from "../lib/report.mjs";
import { start_server, temporary_folder } from "../lib/server.mjs";

const server = await start_server({ settings: { SANDBOX_NETWORK_ALLOWED: "*.example" } });
const browser = await start_browser();
const { url } = server;
const page = await open_page(browser, `${url}/ui`);
const go = (place) => page.goto(`${url}/ui#${place}`);
const row = (text, within = page) => within.locator("tbody tr", { hasText: text });
const button = (name, within = page) => within.getByRole("button", { name, exact: true });
const link = (name, within = page) => within.getByRole("link", { name, exact: true });
const dialog = page.locator("dialog");
const closed = () => dialog.waitFor({ state: "hidden" });
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async function run_cell(code, within = page) {
    await within.getByLabel("Python code").fill(code);
    await button("Run", within).click();
    const cell = within.locator("section.cell").last();
    await cell.locator("[role=status]", { hasText: /\d s$/ }).waitFor();
    return cell;
}

await test("ui: an empty server shows the first steps, which lead to a sandbox", async () => {
    await live(page);
    const steps = page.getByRole("region", { name: "First steps" });
    await steps.waitFor();
    await picture(page, "work-first-steps");
    await button("Create a sandbox", steps).click();
    await dialog.getByLabel("Name").fill("work");
    await button("Create", dialog).click();
    await page.getByRole("heading", { name: "work" }).waitFor();
    await go("overview");
    await link("work").waitFor();
    assert.equal(await page.getByRole("region", { name: "First steps" }).count(), 0);
});

const box = (await get(`${url}/admin/sandboxes`)).sandboxes[0];
const part = (name) => go(`sandboxes/${box.id}/${name}`);

await test("ui: a CSV is uploaded and seen as a table, with the text behind it", async () => {
    const folder = temporary_folder();
    fs.writeFileSync(path.join(folder, "sales.csv"), 'town,sold\n"Paris, north",12\n"a ""b"" c",7.5\n');
    await part("files");
    await page.locator("#upload").setInputFiles(path.join(folder, "sales.csv"));
    await link("sales.csv").click();
    const table = page.getByRole("region", { name: "Table of sales.csv" });
    await table.getByRole("cell", { name: "Paris, north", exact: true }).waitFor();
    assert.deepEqual(await table.getByRole("columnheader").allTextContents(), ["town", "sold"]);
    assert.deepEqual(await table.locator("tbody tr").last().locator("td").allTextContents(), ['a "b" c', "7.5"]);
    await picture(page, "work-csv");
    await button("Text").click();
    await page.getByText('"a ""b"" c",7.5').waitFor();
});

await test("ui: files that are dropped on the list are uploaded", async () => {
    await part("files");
    await link("sales.csv").waitFor();
    const dropped = await page.evaluateHandle(() => { const data = new DataTransfer(); data.items.add(new File(["by hand"], "dropped.txt")); return data; });
    await page.locator(".part").dispatchEvent("dragover", { dataTransfer: dropped });
    await page.locator(".part.drop").waitFor();
    await page.locator(".part").dispatchEvent("drop", { dataTransfer: dropped });
    await link("dropped.txt").click();
    await page.getByText("by hand", { exact: true }).waitFor();
});

await test("ui: a file is made, written, renamed into a folder and deleted; one that is there is not overwritten", async () => {
    await part("files");
    await button("New file").click();
    await dialog.getByLabel("Name").fill("it's new.py");
    await button("Create", dialog).click();
    await page.getByText("This file is empty.").waitFor();
    await button("Edit").click();
    await page.getByLabel("Text of it's new.py").fill("# said\nx = 'so'\n");
    await page.keyboard.press("Control+s");
    await page.locator("pre .hl-comment", { hasText: "# said" }).waitFor();
    await picture(page, "work-edited");
    await button("Rename").click();
    await dialog.getByLabel("New path").fill("sales.csv");
    await button("Rename", dialog).click();
    await dialog.getByText('There is already "sales.csv".').waitFor();
    await dialog.getByLabel("New path").fill("src/new.py");
    await button("Rename", dialog).click();
    await page.waitForURL(/file\/src\/new\.py$/);
    await page.locator("pre .hl-string", { hasText: "'so'" }).waitFor();
    await button("Delete the file").click();
    await button("Delete it", dialog).click();
    await page.waitForURL(/files\/src$/);
    await page.getByText("This folder is empty.").waitFor();
});

await test("ui: rows are sorted by a press on a column, selected, and deleted together", async () => {
    await call(url, "execute_terminal_command", { sandbox_id: box.id, command: "mkdir many; cd many; for n in 1 2 3; do head -c $((n * 1000)) /dev/zero > f$((4 - n)); done" });
    await part("files/many");
    await link("f1").waitFor();
    const names = () => page.locator("tbody td.name").allTextContents();
    await button("Size").click();
    assert.deepEqual(await names(), ["f3", "f2", "f1"]);
    await button("Size").click();
    assert.deepEqual(await names(), ["f1", "f2", "f3"]);
    assert.equal(await page.getByRole("columnheader", { name: "Size" }).getAttribute("aria-sort"), "descending");
    await page.getByLabel("Select f1").check();
    await page.getByLabel("Select f3").check();
    await picture(page, "work-selected");
    await button("Delete 2 rows").click();
    await button("Delete them", dialog).click();
    await link("f3").waitFor({ state: "detached" });
    assert.deepEqual(await names(), ["f2"]);
});

await test("ui: Markdown, notebooks, pages, PDF and pictures have previews", async () => {
    const notes = "# Plan\n\nSee [the table](sales.csv), **now**.\n\n- one\n  - two\n\n```python\nprint(1)  # why\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
    const notebook = JSON.stringify({ metadata: {}, cells: [{ cell_type: "markdown", source: ["## Begin"] }, { cell_type: "code", source: "1 + 1", execution_count: 4, outputs: [{ output_type: "execute_result", data: { "text/plain": ["2"] } }, { output_type: "display_data", data: { "image/png": PNG, "text/plain": "a dot" } }] }] });
    const pdf = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj\ntrailer<</Root 1 0 R>>\n";
    const files = { "plan.md": notes, "book.ipynb": notebook, "page.html": "<h1>Hello</h1><script>document.title = 'run'; document.body.append(`by a script of ${origin}`)</script>", "paper.pdf": pdf, "dot.png": Buffer.from(PNG, "base64") };
    for (const [name, body] of Object.entries(files)) await fetch(`${url}/sandbox/file?sandbox_id=${box.id}&file_path=${name}`, { method: "POST", headers: { "content-type": "application/octet-stream" }, body });
    await part("file/plan.md");
    await page.getByRole("heading", { name: "Plan" }).waitFor();
    await page.locator(".prose pre .hl-comment", { hasText: "# why" }).waitFor();
    await page.locator(".prose li li", { hasText: "two" }).waitFor();
    await page.locator(".prose table td", { hasText: "2" }).waitFor();
    await picture(page, "work-markdown");
    await link("the table").click();
    await page.getByRole("region", { name: "Table of sales.csv" }).waitFor();
    await part("file/book.ipynb");
    await page.getByRole("region", { name: "In [4]" }).getByText("2", { exact: true }).waitFor();
    await until("the notebook's picture is drawn", () => page.evaluate(() => (document.querySelector("section.cell img") || {}).naturalWidth === 1));
    await part("file/page.html");
    await page.frameLocator("iframe").getByText("by a script of null").waitFor();
    await picture(page, "work-page");
    const shown = page.waitForResponse(/paper\.pdf&in_frame=1/);
    await part("file/paper.pdf");
    assert.match((await (await shown).allHeaders())["content-type"], /^application\/pdf/);
    await page.locator("iframe[title='PDF paper.pdf']").waitFor();
    await part("files");
    await button("Gallery").click();
    await until("the gallery is drawn", () => page.evaluate(() => (document.querySelector(".gallery img") || {}).naturalWidth === 1));
    assert.deepEqual(await page.locator(".gallery li").allTextContents(), ["dot.png"]);
});

await test("ui: cells run in one kernel and show text, pictures, tables and exceptions", async () => {
    await part("code");
    let cell = await run_cell(`x = 41\nprint("so far")\nclass Dot:\n    def _repr_png_(self):\n        import base64\n        return base64.b64decode("${PNG}")\nDot()`);
    await cell.getByText("so far", { exact: true }).waitFor();
    await until("the picture is drawn", () => cell.locator("img").evaluate((image) => image.naturalWidth === 1));
    cell = await run_cell("x + 1");
    await cell.locator("pre.result", { hasText: /^42$/ }).waitFor();
    cell = await run_cell("class T:\n    def _repr_html_(self): return '<table><tr><td>in a table</td></tr></table>'\nT()");
    await cell.frameLocator("iframe").getByRole("cell", { name: "in a table" }).waitFor();
    cell = await run_cell("1 / 0");
    await cell.getByText("ZeroDivisionError").waitFor();
    await cell.getByText("Exit code 1").waitFor();
    await picture(page, "work-cells");
    assert.match(await cell.getAttribute("class"), /failed/);
    await part("files");
    await part("code");
    await page.locator("section.cell").nth(3).waitFor();      // they stay while another part is shown
});

await test("ui: a runaway cell is interrupted, and several runs are ended together", async () => {
    await page.getByLabel("Python code").fill("import time\nprint('on', flush=True)\nwhile True: time.sleep(0.01)");
    await button("Run").click();
    const cell = page.locator("section.cell").last();
    await cell.getByText("on", { exact: true }).waitFor();
    await button("Interrupt", cell).click();
    await cell.getByText("KeyboardInterrupt").first().waitFor();
    const runs = [1, 2].map((n) => call(url, "system_run_command", { command: `sleep 30${n}`, timeout: 100 }));
    await go("now");
    for (const n of [1, 2]) await row(`sleep 30${n}`).getByRole("checkbox").check();
    await button("End 2 rows").click();
    await button("End them", dialog).click();
    for (const result of await Promise.all(runs)) assert.match(result.error, /administrator ended/);
});

await test("ui: an app of the sandbox is shown in a frame of the page", async () => {
    await call(url, "execute_terminal_command", { sandbox_id: box.id, command: "mkdir app; cd app; echo '<p>the app</p><script>document.body.append(origin)</script>' > index.html; nohup python3 -m http.server 8080 > /tmp/log 2>&1 & until (exec 3<> /dev/tcp/127.0.0.1/8080) 2> /dev/null; do :; done" });
    await part("ports");
    await button("Show a port").click();
    await button("Show it", dialog).click();
    await button("Show here: port 8080").click();
    const app = page.frameLocator("iframe[title='Port 8080']");
    await app.getByText("the app").waitFor();
    await app.getByText("null").waitFor();
    await picture(page, "work-port");
});

await test("ui: a failure has its exit code, last lines and advice; a host that was refused is allowed from it", async () => {
    await call(url, "set_network", { sandbox_id: box.id, allow: ["other.example"] });
    await call(url, "execute_python_code", { sandbox_id: box.id, code: "import urllib.request\nurllib.request.urlopen('https://api.example/')" });
    await call(url, "execute_python_code", { sandbox_id: box.id, code: "import no_such_module" });
    await call(url, "execute_terminal_command", { sandbox_id: box.id, command: "echo first; echo last >&2; exit 7" });
    await call(url, "execute_terminal_command", { sandbox_id: box.id, command: "make" });
    await call(url, "file_read", { path: "nothing.txt", sandbox_id: box.id }).catch(() => {});
    await call(url, "file_read", { paht: "x" }).catch(() => {});
    await go("failed");
    await row("exit 7").locator(".badge", { hasText: "exit 7" }).waitFor();
    await row("exit 7").locator("summary", { hasText: "last" }).waitFor();
    await row("import no_such_module").getByText("Install no_such_module in the sandbox").waitFor();
    await link("Open its packages", row("import no_such_module")).waitFor();
    await row("nothing.txt").locator(".badge").waitFor();
    await row("argument").locator(".badge", { hasText: /failed|InvalidArgument/ }).waitFor();
    await row("exit 2").or(row("exit 127")).first().waitFor();
    await link("work", row("import urllib")).waitFor();
    await picture(page, "work-failed");
    await link("Allow api.example:443 …", row("import urllib")).click();
    await button("Allow api.example:443").click();
    await row("api.example:443").getByText("allowed", { exact: true }).waitFor();
    await button("Allow api.example:443").waitFor({ state: "detached" });
    assert.deepEqual((await get(`${url}/admin/sandboxes?match=${box.id}`)).sandboxes[0].network.hosts.sort(), ["api.example:443", "other.example"]);
});

await test("ui: the history has inputs and outputs of calls, and the failed ones alone", async () => {
    await part("history");
    const failed = row("exit 7");
    await failed.locator("summary").click();
    await failed.locator("pre", { hasText: "first\nlast" }).waitFor();
    await picture(page, "work-history");
    await row("many").first().waitFor();
    await button("Failed ones").click();
    await row("mkdir many").waitFor({ state: "hidden" });
    await failed.waitFor();
});

await test("ui: packages are listed, and a failed installation says why", async () => {
    await part("packages");
    await row("the machine or image").first().waitFor();
    await page.getByLabel("Packages to install").fill("no-such-package-of-tests");
    await button("Install").click();
    await page.locator("p.bad[role=status]").waitFor();
    await page.getByRole("log", { name: "Output of the installation" }).getByText(/no-such-package-of-tests/).first().waitFor();
    await picture(page, "work-packages");
    await go("failed");
    await row("install_packages_in_sandbox").waitFor();
});

await test("ui: files go back to a snapshot, a sandbox is paused and resumed", async () => {
    await part("snapshots");
    await button("Take a snapshot").click();
    await dialog.getByLabel("Name").fill("before");
    await button("Take it", dialog).click();
    await page.getByText("before", { exact: true }).waitFor();
    await call(url, "execute_terminal_command", { sandbox_id: box.id, command: "rm sales.csv" });
    await button("Restore before").click();
    await Promise.all([page.waitForResponse(/restore_sandbox/), button("Restore it", dialog).click()]);
    await part("files");
    await link("sales.csv").waitFor();
    await button("Pause").click();
    await button("Pause it", dialog).click();
    await button("Resume").click();
    await button("Pause").waitFor();
});

await test("ui: a key is made by check boxes, with the lines for Cursor after it", async () => {
    await go("principals");
    await button("New key").click();
    await dialog.getByLabel("Principal").fill("cursor");
    await dialog.getByRole("checkbox", { name: /^packages/ }).uncheck();
    assert.equal(await dialog.getByRole("checkbox", { name: /^admin/ }).isChecked(), false);
    await picture(page, "work-key-form");
    await button("Make the key", dialog).click();
    const key = await dialog.getByText(/^cmk_/).first().textContent();
    await dialog.getByLabel("Client").selectOption({ label: "Cursor" });
    const lines = JSON.parse(await dialog.locator("pre").last().textContent());
    assert.deepEqual(lines.mcpServers["container-mcp"], { url: `${url}/mcp?profile=agent`, headers: { Authorization: `Bearer ${key}` } });
    await dialog.getByText("~/.cursor/mcp.json").waitFor();
    await picture(page, "work-key");
    await button("Close", dialog).last().click();
    await closed();
    const { keys } = await get(`${url}/admin/keys`);
    assert.equal(keys[0].scopes, "mcp:read mcp:files mcp:run mcp:sandboxes mcp:web");
});

await test("ui: the overview has curves of the last hour, and lines for a dozen clients", async () => {
    await go("overview");
    await until("there are curves", async () => (await page.locator("svg.curve path").first().getAttribute("d") || "").includes("M"));
    assert.match(await page.locator("svg.curve").nth(3).getAttribute("aria-label"), /^Memory of server and sandboxes of the last hour: now \d/);
    assert.ok(await page.getByLabel("Client").locator("option").count() >= 12);
    await page.getByLabel("Client").selectOption({ label: "Codex" });
    await page.getByText("[mcp_servers.container-mcp]").waitFor();
    await picture(page, "work-overview");
});

await test("ui: the keyboard alone runs a cell and sorts a table", async () => {
    await part("code");
    await page.getByLabel("Python code").focus();
    await page.keyboard.type("print('by keys')");
    await page.keyboard.press("Shift+Enter");
    await page.locator("section.cell pre", { hasText: /^by keys\n$/ }).waitFor();
    await go("sandboxes");
    await button("Disk").focus();
    await page.keyboard.press("Enter");
    await page.locator("th[aria-sort=ascending]", { hasText: "Disk" }).waitFor();
});

const places = ["overview", ...["files", "file/plan.md", "file/sales.csv", "file/book.ipynb", "code", "history", "packages", "network", "ports"].map((name) => `sandboxes/${box.id}/${name}`)];
for (const [name, look] of Object.entries({ light: {}, dark: { colorScheme: "dark" }, phone: PHONE })) {
    await test(`ui: no barriers in previews, cells and curves, and nothing beyond the edge: ${name}`, async () => {
        const other = await open_page(browser, `${url}/ui`, look);
        for (const place of places) {
            await other.goto(`${url}/ui#${place}`);
            await other.locator(`#panes a[aria-current=page][href="#${place.split("/")[0]}"]`).waitFor();
            await other.locator("#main[aria-busy=false]").waitFor();
            if (place.endsWith("code")) await run_cell("1 / 0", other);
            assert.deepEqual(await barriers(other), [], place);
            assert.equal(await overhang(other), 0, `${place} is too wide`);
            await picture(other, `work-${name}-${place.replace(box.id, "box").replaceAll("/", "-")}`);
        }
        assert.deepEqual(other.faults, []);
        await other.context().close();
    }, 240_000);
}

await test("ui: no script failed at work, and no policy was violated", async () => assert.deepEqual(page.faults, []));
await browser.close();
await test("ui: the server that was worked with ends", () => server.stop());
