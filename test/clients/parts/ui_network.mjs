// Panes of /ui about what leaves a sandbox: its network with the answers of its user, secrets, and other MCP servers.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { PHONE, barriers, call, get, live, open_page, overhang, picture, start_browser } from "../lib/browser.mjs";
import { test } from "../lib/report.mjs";
import { environment, program, start_server, temporary_folder } from "../lib/server.mjs";

const MARKUP = `"'><img src=x onerror=pwned=1><script>pwned=1</script>`;
const VALUE = "a-value-that-nobody-may-see-4711";

const listening = async (serve) => {
    const one = http.createServer(serve).listen(0, "127.0.0.1");
    await once(one, "listening");
    return one;
};

// An address that the operator opens needs no name server.
const site = await listening((_, response) => response.end("this is the site\n"));
const place = `127.0.0.1:${site.address().port}`;
const hostile = await listening((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "application/json" });
    request.on("end", () => response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code: -32000, message: MARKUP } })));
});
const other = await start_server();
const folder = temporary_folder();
const config = path.join(folder, "config.toml");
fs.writeFileSync(config, `[upstream.other]\nurl = "${other.url}/mcp"\n[upstream.hostile]\nurl = "http://127.0.0.1:${hostile.address().port}/mcp"\n`);
const settings = { SANDBOX_NETWORK_ALLOWED: "127.0.0.1, *.shop.test", SANDBOX_NETWORK_PRIVATE: "127.0.0.1", MCP_AUTH_TOKENS: "root=a-token-of-root-for-tests,ann=a-token-of-ann-for-tests", AUTH_ADMINS: "root" };
const TOKENS = { root: "a-token-of-root-for-tests", ann: "a-token-of-ann-for-tests" };
const server = await start_server({ settings, folder, command: [program, "--config", config, "serve"] });
const { url } = server;
const browser = await start_browser();
const row = (text, page) => page.locator("tbody tr", { hasText: text });
const button = (name, within) => within.getByRole("button", { name, exact: true });
const dialog = (page) => page.locator("dialog");
const closed = (page) => dialog(page).waitFor({ state: "hidden" });

async function logged_in(name, look) {
    const page = await open_page(browser, `${url}/ui`, look);
    await page.getByLabel("API key or token").fill(TOKENS[name]);
    await page.getByRole("button", { name: "Log in" }).click();
    await live(page);
    return page;
}

const ann = await logged_in("ann"), root = await logged_in("root");
const box = await call(url, "create_sandbox", { name: "shop" }, TOKENS.ann);
const at = (page, hash) => page.goto(`${url}/ui#${hash}`);
const kept = async () => (await get(`${url}/admin/sandboxes?match=${box.sandbox_id}`, TOKENS.ann)).sandboxes[0].network;

await test("ui: a sandbox without a network says so, and its owner gives it one", async () => {
    await at(ann, "sandboxes");
    await row("shop", ann).getByText("none", { exact: true }).waitFor();
    await at(ann, `sandboxes/${box.sandbox_id}/network`);
    await ann.getByText("Its programs reach nothing outside.").waitFor();
    await picture(ann, "network-none");
    await button("Change the network", ann).click();
    assert.equal(await ann.evaluate(() => document.activeElement.name), "mode");
    await dialog(ann).getByLabel("Programs reach").selectOption("hosts");
    await button("Set it", dialog(ann)).click();
    await dialog(ann).getByText("Name a host, or choose None.").waitFor();
    await dialog(ann).getByLabel("Hosts, one a line").fill("elsewhere.test");
    await button("Set it", dialog(ann)).click();
    await dialog(ann).getByRole("alert").getByText(/SANDBOX_NETWORK_ALLOWED/).waitFor();
    assert.deepEqual(await barriers(ann), []);
    await picture(ann, "network-dialog");
    await dialog(ann).getByLabel("Hosts, one a line").fill("api.shop.test\n*.shop.test:8443\n!bad.shop.test");
    await button("Set it", dialog(ann)).click();
    await closed(ann);
    await row("api.shop.test", ann).getByText("allowed", { exact: true }).waitFor();
    await row("!bad.shop.test", ann).getByText("refused", { exact: true }).waitFor();
    assert.deepEqual(await kept(), { mode: "hosts", hosts: ["api.shop.test", "*.shop.test:8443", "!bad.shop.test"], approved: [], approved_for_run: [], refused: [] });
    await button("Remove *.shop.test:8443", ann).click();
    await row("*.shop.test:8443", ann).waitFor({ state: "detached" });
    await at(ann, "sandboxes");
    await row("shop", ann).getByText("2 hosts", { exact: true }).waitFor();
});

await test("ui: hosts that the user of a run has allowed or refused are told apart, and changed", async () => {
    await at(ann, `sandboxes/${box.sandbox_id}/network`);
    await button("Change the network", ann).click();
    await dialog(ann).getByLabel("Programs reach").selectOption("ask");
    await button("Set it", dialog(ann)).click();
    await closed(ann);
    const client = new Client({ name: "asked", version: "1" }, { capabilities: { elicitation: {} } });
    let answer = "allow for this sandbox";
    client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { answer } }));
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers: { authorization: `Bearer ${TOKENS.ann}` } } }));
    const run = (where) => client.callTool({ name: "execute_terminal_command", arguments: { sandbox_id: box.sandbox_id, command: `curl -sS --noproxy '' http://${where}/` } });
    await run(place);
    answer = "refuse";
    await run("www.shop.test");
    await client.close();
    await row(place, ann).getByText("by an answer", { exact: true }).waitFor();
    await row("www.shop.test:80", ann).getByText("by an answer, until the sandbox stops").waitFor();
    const { mode, approved, refused } = await kept();
    assert.deepEqual({ mode, approved, refused }, { mode: "ask", approved: [place], refused: ["www.shop.test:80"] });
    await picture(ann, "network-asks");
    await button("Allow www.shop.test:80", ann).click();
    await row("www.shop.test:80", ann).getByText("allowed", { exact: true }).waitFor();
    await button(`Remove ${place}`, ann).click();
    await row(place, ann).waitFor({ state: "detached" });
    assert.equal(await ann.evaluate(() => document.activeElement.id), "main", "the focus is lost");
    const now = await kept();
    assert.deepEqual({ mode: now.mode, hosts: now.hosts, refused: now.refused }, { mode: "ask", hosts: ["api.shop.test", "!bad.shop.test", "www.shop.test:80"], refused: [] });
});

await test("ui: a key without the scope for it changes no network, and an administrator reads that of others", async () => {
    const { key } = await (await fetch(`${url}/admin/keys`, { method: "POST", headers: { "content-type": "application/json", authorization: `Bearer ${TOKENS.root}` }, body: JSON.stringify({ principal: "ann", scopes: "mcp:read" }) })).json();
    const page = await open_page(browser, `${url}/ui#sandboxes/${box.sandbox_id}/network`);
    await page.getByLabel("API key or token").fill(key);
    await page.getByRole("button", { name: "Log in" }).click();
    await row("api.shop.test", page).waitFor();
    for (const name of ["Change the network", "Remove api.shop.test"]) assert.ok(await button(name, page).isDisabled(), name);
    assert.deepEqual(page.faults, []);
    await page.context().close();
    await at(root, `sandboxes/${box.sandbox_id}`);
    await root.getByText("3 hosts, asks").waitFor();
});

await test("ui: an administrator sets and removes secrets, whose values are nowhere; a caller sees those of its sandboxes", async () => {
    await at(root, "secrets");
    await root.getByText("There is no secret.").waitFor();
    await button("Set a secret", root).click();
    // The key is made by the command alone, because the server may not write there.
    const command = (...words) => execFileSync(program, ["secret", ...words], { env: { ...environment(server.folder), SANDBOX_ROOT: server.root }, input: VALUE });
    command("set", "FIRST", "--hosts", "first.shop.test", "--header", "X: {}");
    command("remove", "FIRST");
    const fill = async (fields) => { for (const [label, text] of Object.entries(fields)) await dialog(root).getByLabel(label, { exact: true }).fill(text); };
    await fill({ Name: "API_KEY", Value: "short", Hosts: "api.shop.test", Form: "Authorization: Bearer {}", Principal: "ann" });
    await button("Set it", dialog(root)).click();
    await dialog(root).getByRole("alert").getByText(/8 to 4096 characters/).waitFor();
    assert.deepEqual(await barriers(root), []);
    await picture(root, "secret-dialog");
    await fill({ Value: VALUE });
    await button("Set it", dialog(root)).click();
    await closed(root);
    await row("API_KEY", root).getByText("header Authorization: Bearer {}").waitFor();
    const more = [{ name: "GIT_TOKEN", basic: "git", principal: "root" }, { name: "MAPS_KEY", query: "key={}", principal: "*" }, { name: "BOX_KEY", header: "X-Key: {}", sandbox: box.sandbox_id }, { name: "FOREIGN_KEY", header: "X-Key: {}", sandbox: "sbx_elsewhere" }];
    for (const each of more) {
        const answer = await fetch(`${url}/admin/secrets`, { method: "POST", headers: { "content-type": "application/json", authorization: `Bearer ${TOKENS.root}` }, body: JSON.stringify({ value: VALUE, hosts: ["*.shop.test:8443"], ...each }) });
        assert.equal(answer.status, 200, await answer.text());
    }
    await row("FOREIGN_KEY", root).waitFor();
    await picture(root, "secrets");
    await at(ann, "secrets");
    await row("API_KEY", ann).waitFor();
    assert.deepEqual((await ann.locator("tbody tr td:first-child").allTextContents()).sort(), ["API_KEY", "BOX_KEY", "MAPS_KEY"]);
    assert.equal(await button("Set a secret", ann).count(), 0);
    await picture(ann, "secrets-of-a-caller");
    await at(ann, `sandboxes/${box.sandbox_id}/network`);
    for (const name of ["API_KEY", "MAPS_KEY", "BOX_KEY"]) await ann.getByRole("listitem").filter({ hasText: name }).waitFor();
    for (const page of [ann, root]) assert.ok(!(await page.content()).includes(VALUE), "a value is on the page");
    const status = (method, where, token) => fetch(`${url}${where}`, { method, headers: { "content-type": "application/json", authorization: `Bearer ${token}` }, ...(method === "POST" ? { body: "{}" } : {}) }).then((answer) => answer.status);
    assert.deepEqual([await status("POST", "/admin/secrets", TOKENS.ann), await status("DELETE", "/admin/secrets/API_KEY?principal=ann", TOKENS.ann)], [403, 403]);
    await button("Remove API_KEY of ann", root).click();
    await button("Remove it", dialog(root)).click();
    await row("API_KEY", root).waitFor({ state: "detached" });
});

await test("ui: other MCP servers are shown to administrators with their state, their tools and what is wrong", async () => {
    await at(root, "upstream");
    await row("other", root).getByText("idle").waitFor();
    const answer = await call(url, "execute_python_code", { sandbox_id: box.sandbox_id, code: "import tools\nprint(len(tools.search('run a command', limit=50)))" }, TOKENS.ann);
    assert.ok(answer.success, JSON.stringify(answer));
    await row("other", root).getByText("ready").waitFor();
    const { upstreams } = await get(`${url}/admin/layers`, TOKENS.root);
    const ready = upstreams.find(({ name }) => name === "other");
    assert.ok(ready.tools > 10, JSON.stringify(ready));
    await row("other", root).getByText(String(ready.tools), { exact: true }).waitFor();
    await row("hostile", root).getByText("failed").waitFor();
    assert.deepEqual(await root.evaluate(() => [globalThis.pwned, document.querySelectorAll("img[src=x], script:not([src])").length]), [undefined, 0]);
    await picture(root, "upstream");
    await ann.reload();
    await live(ann);
    assert.equal(await ann.getByRole("link", { name: "Upstream" }).count(), 0);
});

const LOOKS = { light: {}, dark: { colorScheme: "dark" }, phone: PHONE };
for (const [name, look] of Object.entries(LOOKS)) {
    await test(`ui: no barriers among networks, secrets and other servers, and nothing beyond the edge: ${name}`, async () => {
        for (const [who, places] of [["root", ["secrets", "upstream", "sandboxes"]], ["ann", [`sandboxes/${box.sandbox_id}/network`, "secrets"]]]) {
            const page = await logged_in(who, look);
            for (const hash of places) {
                await at(page, hash);
                await page.locator("#main[aria-busy=false]").waitFor();
                await page.locator("tbody tr").first().waitFor();
                assert.deepEqual(await barriers(page), [], hash);
                assert.equal(await overhang(page), 0, `${hash} is too wide`);
                await picture(page, `${name}-${who}-${hash.replace(box.sandbox_id, "box").replaceAll("/", "-")}`);
            }
            assert.deepEqual(page.faults, []);
            await page.context().close();
        }
    }, 300_000);
}

await test("ui: no script failed among networks, secrets and other servers", async () => { for (const page of [ann, root]) assert.deepEqual(page.faults, []); });

await browser.close();
await test("ui: the servers with networks and secrets end", async () => { await server.stop(); await other.stop(); });
for (const each of [site, hostile]) { each.closeAllConnections(); each.close(); }
