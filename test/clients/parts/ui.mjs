// The page /ui in a real browser: every pane, driven as an operator does it, on a server that asks for no login.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { PHONE, barriers, call, get, live, open_page, overhang, picture, start_browser } from "../lib/browser.mjs";
import { test, until } from "../lib/report.mjs";
import { start_server, temporary_folder } from "../lib/server.mjs";

const server = await start_server({ settings: { WEB_ALLOWED_DOMAINS: "allowed.example" } });
const browser = await start_browser();
const { url } = server;
const page = await open_page(browser, `${url}/ui`);
const go = (place) => page.goto(`${url}/ui#${place}`);
const row = (text, within = page) => within.locator("tbody tr", { hasText: text });
const button = (name, within = page) => within.getByRole("button", { name, exact: true });
const dialog = page.locator("dialog");
const PANES = ["overview", "now", "failed", "sandboxes", "jobs", "sessions", "network", "secrets", "principals", "audit", "upstream", "health"];

/// Fills the form of the dialog and sends it.
async function fill(fields, word) {
    for (const [label, text] of Object.entries(fields)) await dialog.getByLabel(label).fill(text);
    await button(word, dialog).click();
}

const closed = () => dialog.waitFor({ state: "hidden" });

await test("ui: the panes are there without a login, and empty ones say so", async () => {
    await live(page);
    for (const pane of PANES) {
        await go(pane);
        await page.locator("#panes a[aria-current=page]").waitFor();
        if (!["principals", "health"].includes(pane)) await page.locator("p.empty").first().waitFor();
        await picture(page, `empty-${pane}`);
    }
});

const box = await call(url, "create_sandbox", { name: "report" });

await test("ui: what runs is shown with its newest output while it runs, and is ended", async () => {
    await go("now");
    const code = "# counts\nimport time\nfor i in range(1000):\n    print('number', i, flush=True)\n    time.sleep(0.05)";
    const run = call(url, "system_run_python", { code, timeout: 100 });
    await row("# counts").waitFor();
    await row("# counts").locator("summary").click();
    await row("# counts").getByText(/number 2\d/).waitFor();
    assert.equal(await row("# counts").locator("details[open]").count(), 1, "the details do not stay open");
    await picture(page, "now");
    await page.getByLabel("Filter what runs").fill("nothing like it");
    await row("# counts").waitFor({ state: "hidden" });
    await page.getByLabel("Filter what runs").fill("counts");
    await row("# counts").getByRole("button").click();
    await picture(page, "now-end");
    await button("End it", dialog).click();
    assert.match((await run).error, /administrator ended/);
    await row("# counts").waitFor({ state: "hidden" });
    await page.getByLabel("Filter what runs").fill("");
});

await test("ui: a question that is not answered ends nothing", async () => {
    const job = await call(url, "system_run_command", { command: "sleep 500", run_in_background: true });
    await row("sleep 500").getByRole("button").click();
    await page.keyboard.press("Escape");
    await closed();
    await row("sleep 500").getByRole("button").click();
    await button("Cancel", dialog).click();
    await closed();
    assert.equal((await get(`${url}/admin/jobs`)).jobs[0].state, "running");
    await call(url, "job_kill", { job_id: job.job_id });
});

await test("ui: an end says why, what was denied, and the setting that would allow it", async () => {
    await go("failed");
    await call(url, "system_run_command", { command: "sleep 61", timeout: 0.2 });
    await call(url, "system_run_command", { command: "kill -9 $$" });
    await call(url, "system_run_python", { code: "import socket\nsocket.create_connection(('example.com', 443))" });
    await row("sleep 61").getByText("BASH_TIMEOUT_MAX", { exact: true }).waitFor();
    await row("kill -9").getByText("signal 9").waitFor();
    await row("import socket").getByText("the sandbox has no network").waitFor();
    await row("sleep 61").getByRole("button", { name: "Copy BASH_TIMEOUT_MAX" }).waitFor();
    await picture(page, "failed");
    await page.getByLabel(/^Filter/).fill("signalled");
    await row("sleep 61").waitFor({ state: "hidden" });
    assert.equal(await page.locator("tbody tr").count(), 1);
    await page.getByLabel(/^Filter/).fill("");
    await button("Hold still").click();
    await call(url, "system_run_command", { command: "kill -15 $$" });
    await page.getByText("1 new since").waitFor();
    assert.equal(await row("kill -15").count(), 0);
    await button("Hold still").click();
    await row("kill -15").waitFor();
});

await test("ui: connections that were refused name the rule and the setting", async () => {
    await call(url, "web_scrape", { url: "http://elsewhere.example/" }).catch(() => {});
    await call(url, "web_scrape", { url: "http://allowed.example:22/" }).catch(() => {});
    await go("network");
    await row("elsewhere.example:80").getByText("WEB_ALLOWED_DOMAINS", { exact: true }).first().waitFor();
    await row("allowed.example:22").getByText("WEB_ALLOWED_PRIVATE", { exact: true }).waitFor();
    assert.equal(await page.locator(".badge", { hasText: "refused" }).count(), 2);
    await picture(page, "network");
});

await test("ui: a sandbox is created, found, copied and deleted", async () => {
    await go("sandboxes");
    await button("New sandbox").click();
    await fill({ Name: "report" }, "Create");
    await dialog.getByText(/report/).waitFor();        // the name is taken: the dialog stays and says so
    await picture(page, "sandbox-name-taken");
    await fill({ Name: "second" }, "Create");
    await page.getByRole("heading", { name: "second" }).waitFor();
    await button("Fork").click();
    await fill({ "Name of the copy": "third" }, "Copy it");
    await page.getByRole("heading", { name: "third" }).waitFor();
    await page.getByText("← All sandboxes").click();
    await row("third").waitFor();
    await page.getByLabel("Name, id or principal").fill("sec");
    await row("third").waitFor({ state: "hidden" });
    await page.getByLabel("Order").selectOption("disk");
    await row("second").getByRole("button").click();
    await button("Delete it", dialog).click();
    await page.getByText("There is no sandbox.").waitFor();
    await page.getByLabel("Name, id or principal").fill("");
    await row("third").getByRole("link").click();
    await button("Delete").click();
    await button("Delete it", dialog).click();
    await row("report").waitFor();
    await page.getByLabel("Order").selectOption("used");
    await page.locator("tbody tr").first().getByText("default", { exact: true }).waitFor();   // in which the calls before have worked, and not latest
    assert.deepEqual((await get(`${url}/admin/sandboxes`)).sandboxes.map(({ name }) => name).sort(), ["default", "report"]);
    await picture(page, "sandboxes");
});

await test("ui: the default sandbox has files and a terminal as any other", async () => {
    await call(url, "file_write", { path: "kept.txt", content: "by a tool" });
    await go("sandboxes");
    await row("default").getByRole("link").click();
    await page.getByRole("heading", { name: "default" }).waitFor();
    await page.getByRole("link", { name: "kept.txt", exact: true }).click();
    await page.getByText("by a tool", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Terminal" }).click();
    await page.locator(".screen").getByText(/[$#]/).first().waitFor();
    await page.locator(".screen").click();
    await page.keyboard.type("cat kept.txt\n");
    await page.locator(".screen").getByText("by a tool").waitFor();
});

const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

await test("ui: files are uploaded, listed, shown and downloaded", async () => {
    const folder = temporary_folder();
    const names = { "notes.txt": "hello\nwörld\n", "dot.png": PNG, "bytes.bin": Buffer.from([0, 1, 2, 0]), "empty.txt": "", "long.txt": "0123456789abcdef".repeat(32 * 1024) };
    for (const [name, text] of Object.entries(names)) fs.writeFileSync(path.join(folder, name), text);
    await go(`sandboxes/${box.sandbox_id}`);
    await page.getByText("This folder is empty.").waitFor();
    await page.locator("#upload").setInputFiles(Object.keys(names).map((name) => path.join(folder, name)));
    await row("long.txt").getByText("512 KiB").waitFor();
    await picture(page, "files");
    await page.getByRole("link", { name: "notes.txt", exact: true }).click();
    await page.getByText("wörld").waitFor();
    await picture(page, "file-text");
    await page.goBack();
    await page.getByRole("link", { name: "dot.png", exact: true }).click();
    await until("the image is drawn", () => page.evaluate(() => (document.querySelector("img") || {}).naturalWidth === 1));
    await page.goBack();
    for (const [name, words] of [["bytes.bin", "is no text"], ["empty.txt", "is empty"], ["long.txt", "The first 256 KiB of 512 KiB"]]) {
        await page.getByRole("link", { name, exact: true }).click();
        await page.getByText(words).waitFor();
        await page.goBack();
    }
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download notes.txt" }).click()]);
    assert.equal(download.suggestedFilename(), "notes.txt");
    assert.equal(fs.readFileSync(await download.path(), "utf8"), names["notes.txt"]);
    await call(url, "file_write", { sandbox_id: box.sandbox_id, path: "a/b/ü c#?%.txt", content: "deep" });
    await page.reload();
    for (const name of ["a/", "b/", "ü c#?%.txt"]) await page.getByRole("link", { name, exact: true }).click();
    await page.getByText("deep", { exact: true }).waitFor();
    await page.getByRole("navigation", { name: "Folder" }).getByRole("link", { name: "a", exact: true }).click();
    await row("b/").waitFor();
});

await test("ui: ports are shown, reached and withdrawn", async () => {
    await call(url, "execute_terminal_command", { sandbox_id: box.sandbox_id, command: "nohup python3 -m http.server 8080 > /tmp/log 2>&1 & until (exec 3<> /dev/tcp/127.0.0.1/8080) 2> /dev/null; do :; done" });
    await go(`sandboxes/${box.sandbox_id}/ports`);
    await page.getByText("Programs listen at 8080, too.").waitFor();
    await button("Show a port").click();
    assert.equal(await dialog.getByLabel("Port").inputValue(), "8080");
    await button("Show it", dialog).click();
    const link = page.getByRole("link", { name: "Port 8080" });
    await link.waitFor();
    await page.getByText("a program listens").waitFor();
    await picture(page, "ports");
    const [shown] = await Promise.all([page.context().waitForEvent("page"), link.click()]);
    await shown.getByText("notes.txt").waitFor();
    assert.equal(await shown.evaluate(() => opener), null, "the program's page reaches this one");
    await shown.close();
    await button("Withdraw port 8080").click();
    await button("Withdraw it", dialog).click();
    await page.getByText("No port is shown.").waitFor();
});

await test("ui: a snapshot is taken, restored and deleted", async () => {
    await go(`sandboxes/${box.sandbox_id}/snapshots`);
    await button("Take a snapshot").click();
    await fill({ Name: "before" }, "Take it");
    await page.getByText("before", { exact: true }).waitFor();
    await picture(page, "snapshots");
    await call(url, "execute_terminal_command", { sandbox_id: box.sandbox_id, command: "rm notes.txt" });
    await button("Restore before").click();
    await Promise.all([page.waitForResponse(/restore_sandbox/), button("Restore it", dialog).click()]);
    const { entries } = await call(url, "file_list", { sandbox_id: box.sandbox_id });
    assert.ok(entries.some(({ name }) => name === "notes.txt"), "the file is not back");
    await button("Delete before").click();
    await button("Delete it", dialog).click();
    await page.getByText("There is no snapshot.").waitFor();
});

await test("ui: the output of a job is followed, and a job is cancelled", async () => {
    await call(url, "system_run_command", { command: "for ((i = 0; i < 3000; i++)); do echo line $i; sleep 0.05; done", run_in_background: true });
    await go("jobs");
    await row("for ((i").waitFor();
    await page.getByRole("button", { name: /^Output of for/ }).click();
    await dialog.getByText(/line 5\n/).waitFor();
    await picture(page, "job-output");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /^Cancel for/ }).click();
    await button("Cancel it", dialog).click();
    await row("for ((i").getByText("killed").waitFor();
    await picture(page, "jobs");
});

await test("ui: sessions say which client they are of, and are ended", async () => {
    const hello = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "an agent", version: "3" } } };
    await fetch(`${url}/mcp`, { method: "POST", headers: { "content-type": "application/json", accept: "application/json, text/event-stream" }, body: JSON.stringify(hello) });
    await go("sessions");
    await row("an agent 3").waitFor();
    await picture(page, "sessions");
    await row("an agent 3").getByRole("button").click();
    await button("End it", dialog).click();
    await page.getByText("No client has a session.").waitFor();
});

await test("ui: use stands beside its quota, and a quota that is set counts at once", async () => {
    await go("principals");
    await row("(everybody)").getByText(/^1 of [\d,]+$/).first().waitFor();
    await button("Quotas of a principal").click();
    await fill({ Principal: "robot" }, "Go on");
    await dialog.getByText("Quotas of robot").waitFor();
    await picture(page, "quotas");
    await fill({ "calls of tools a minute": "60", runs: "0x" }, "Set them").catch(() => {});      // a number field takes no text
    await dialog.getByLabel("runs").fill("2");
    await button("Set them", dialog).click();
    await closed();
    const kept = async () => Object.fromEntries((await get(`${url}/admin/quotas`)).quotas.map(({ name, value }) => [name, value]));
    assert.deepEqual(await kept(), { calls: 60, runs: 2 });
    await button("Quotas of a principal").click();
    await fill({ Principal: "robot" }, "Go on");
    await dialog.getByLabel("calls of tools a minute").fill("");
    await button("Set them", dialog).click();
    await closed();
    assert.deepEqual(await kept(), { runs: 2 });
});

await test("ui: a key is shown once, and revoked", async () => {
    await button("New key").click();
    await fill({ Principal: "robot", Lasts: "tomorrow" }, "Make the key");
    await dialog.getByRole("alert").getByText(/tomorrow/).waitFor();
    await fill({ Lasts: "90d", Note: "of a test" }, "Make the key");
    await dialog.getByText(/^cmk_/).waitFor();
    const key = await dialog.getByText(/^cmk_/).textContent();
    await button("Close", dialog).last().click();
    await closed();
    assert.ok(!(await page.content()).includes(key), "the key stays on the page");
    await row("of a test").waitFor();
    await picture(page, "principals");
    await row("of a test").getByRole("button").click();
    await button("Revoke it", dialog).click();
    await row("of a test").getByText("revoked").waitFor();
});

await test("ui: health has the layers, those that are not on first, and reads the settings again", async () => {
    await go("health");
    await page.getByText(/layers? on\.$/).waitFor();
    const states = await page.locator("tbody .badge").allTextContents();
    assert.equal(states.indexOf("on"), states.filter((state) => state !== "on").length);
    await picture(page, "health");
    await button("Read the settings again").click();
    await dialog.getByText("Nothing has changed.").waitFor();
    await page.keyboard.press("Escape");
});

await test("ui: the keyboard alone reaches all, and the focus is where it is expected", async () => {
    await go("now");
    await page.reload();
    await live(page);
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "To the content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    assert.match(page.url(), /#now$/);
    await page.getByRole("link", { name: "Sandboxes" }).focus();
    await page.keyboard.press("Enter");
    await row("report").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    await button("New sandbox").focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.name), "name");
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "New sandbox");
});

const places = [...PANES, ...["", "/file/notes.txt", "/terminal", "/ports", "/network", "/snapshots"].map((part) => `sandboxes/${box.sandbox_id}${part}`)];
const LOOKS = { light: {}, dark: { colorScheme: "dark" }, phone: PHONE, "200 %": { viewport: { width: 640, height: 512 }, deviceScaleFactor: 2 } };

for (const [name, look] of Object.entries(LOOKS)) {
    await test(`ui: no barriers that axe-core knows, and nothing beyond the edge: ${name}`, async () => {
        const other = await open_page(browser, `${url}/ui`, look);
        for (const place of places) {
            await other.goto(`${url}/ui#${place}`);
            await other.locator(`#panes a[aria-current=page][href="#${place.split("/")[0]}"]`).waitFor();
            await other.locator("#main[aria-busy=false]").waitFor();
            if (!look.deviceScaleFactor) assert.deepEqual(await barriers(other), [], place);      // the same elements as in light
            assert.equal(await overhang(other), 0, `${place} is too wide`);
            await picture(other, `${name.replace(" %", "")}-${place.replace(box.sandbox_id, "box").replaceAll("/", "-")}`);
        }
        await other.goto(`${url}/ui#sandboxes`);
        await other.getByRole("button", { name: "New sandbox" }).click();
        assert.deepEqual(await barriers(other), [], "the dialog");
        assert.equal(await other.evaluate(() => document.getAnimations().length), 0, "something moves");
        assert.deepEqual(other.faults, []);
        await other.context().close();
    }, 300_000);
}

await test("docs: an example is run and copied as code, without barriers, also on a phone", async () => {
    for (const look of [{}, { colorScheme: "dark" }, PHONE]) {
        const other = await open_page(browser, `${url}/docs`, look);
        await other.locator("#main table").waitFor();
        assert.deepEqual(await barriers(other), [], "the beginning");
        await other.goto(`${url}/docs#system_run_python`);
        for (const [language, words] of [["TypeScript", "await fetch("], ["Python", "urllib.request"], ["curl", "curl -s"]]) {
            await button(language, other).click();
            await other.locator("pre.code", { hasText: words }).waitFor();
        }
        await button("Run", other).click();
        await other.locator("#result", { hasText: '"result": 42' }).waitFor();
        assert.deepEqual(await barriers(other), [], "a tool");
        assert.equal(await overhang(other), 0);
        assert.deepEqual(other.faults, []);
        await other.context().close();
    }
});

await test("ui: the page comes back by itself when the server does, with a stream that goes on", async () => {
    const second = await start_server();
    const tab = await open_page(browser, `${second.url}/ui#failed`);
    await live(tab);
    await call(second.url, "system_run_command", { command: "kill -9 $$" });
    await row("kill -9", tab).waitFor();
    await second.stop();
    await tab.getByText("not connected").waitFor();
    await picture(tab, "not-connected");
    const third = await start_server({ settings: { MCP_PORT: String(second.port) } });
    await live(tab);
    await row("kill -9", tab).waitFor({ state: "hidden" });
    await call(second.url, "system_run_command", { command: "kill -15 $$" });
    await row("kill -15", tab).waitFor();
    assert.deepEqual(tab.faults, []);
    await tab.context().close();
    await third.stop();
}, 120_000);

await test("ui: no script failed, and no policy was violated", async () => assert.deepEqual(page.faults, []));

await test("ui: the first paint", async () => {
    const times = [];
    for (let i = 0; i < 5; ++i) {
        const fresh = await open_page(browser, `${url}/ui`);
        await live(fresh);
        times.push(await fresh.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
        await fresh.context().close();
    }
    times.sort((one, other) => one - other);
    console.log(`# first contentful paint: ${times.map((each) => each.toFixed(0)).join(", ")} ms`);
});

await browser.close();
await test("ui: the server ends", () => server.stop());
