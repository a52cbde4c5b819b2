// Logins at /ui: tokens, API keys, an authorization server; who sees what, and how a login ends.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { log_in as person_logs_in, start_authorization_server } from "../lib/authorization_server.mjs";
import { barriers, call, get, live, open_page, overhang, picture, PHONE, start_browser } from "../lib/browser.mjs";
import { start_prefix_proxy } from "../lib/prefix_proxy.mjs";
import { test, until } from "../lib/report.mjs";
import { environment, free_port, program, start_server } from "../lib/server.mjs";

const TOKENS = Object.fromEntries(["root", "ann", "bob"].map((name) => [name, `a-token-of-${name}-for-tests`]));
const port = await free_port();
const LIFE = 12;      // seconds of a token of the authorization server
const ui_client = { client_id: "ui", redirect_uris: [`http://127.0.0.1:${port}/ui/callback`], grant_types: ["authorization_code"], response_types: ["code"], token_endpoint_auth_method: "none", application_type: "native" };
const as = await start_authorization_server({ ttl: LIFE, clients: [ui_client] });
const settings = { MCP_PORT: String(port), MCP_AUTH_TOKENS: Object.entries(TOKENS).map((pair) => pair.join("=")).join(","), AUTH_ADMINS: "root", AUTH_ISSUERS: as.issuer, AUTH_UI_CLIENT: "ui", AUTH_CLOCK_SKEW: "0" };
const server = await start_server({ settings });
const { url } = server;
const browser = await start_browser();
const boxes = Object.fromEntries(await Promise.all(["ann", "bob"].map(async (name) => [name, (await call(url, "create_sandbox", { name: `box-of-${name}` }, TOKENS[name])).sandbox_id])));

const command = (...words) => execFileSync(program, words, { env: { ...environment(server.folder), SANDBOX_ROOT: server.root }, encoding: "utf8" });
const new_key = (...words) => command("key", "create", ...words).match(/cmk_\w+_[\w-]+/)[0];
const row = (page, text) => page.locator("tbody tr", { hasText: text });
const at_login = (page) => page.getByRole("heading", { name: "Log in" }).waitFor();

async function log_in(page, token) {
    await page.getByLabel("API key or token").fill(token);
    await page.getByRole("button", { name: "Log in" }).click();
}

async function logged_in(token, options) {
    const page = await open_page(browser, `${url}/ui`, options);
    await log_in(page, token);
    await live(page);
    return page;
}

/// Ends a page, whose scripts must not have failed.
async function done(page) {
    assert.deepEqual(page.faults, []);
    await page.context().close();
}

/// All that a script of the page can read.
const readable = (page) => page.evaluate(() => [document.documentElement.outerHTML, location.href, document.cookie, JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage })].join("\n"));

await test("ui: without a login there is the form alone, and a wrong key is refused with a sentence", async () => {
    for (const look of [{}, PHONE, { colorScheme: "dark" }]) {
        const page = await open_page(browser, `${url}/ui#sandboxes`, look);
        await at_login(page);
        assert.ok(await page.locator("#panes").isHidden());
        await log_in(page, "wrong");
        await page.getByRole("alert").getByText("The bearer token is not known here").or(page.getByText("not known here")).first().waitFor();
        assert.deepEqual(await barriers(page), []);
        assert.equal(await overhang(page), 0);
        await picture(page, `login-${look.isMobile ? "phone" : look.colorScheme ?? "light"}`);
        await done(page);
    }
});

await test("ui: the token is in no place that a script can read, and the cookie is for this server alone", async () => {
    const page = await logged_in(TOKENS.ann);
    assert.ok(!(await readable(page)).includes(TOKENS.ann));
    const cookies = await page.context().cookies();
    assert.equal(cookies.length, 1);
    const [{ name, value, httpOnly, sameSite, path, domain, secure }] = cookies;
    assert.match(name, /^cmcp-login-[0-9a-f]{8}$/);
    assert.deepEqual({ httpOnly, sameSite, path, domain, secure }, { httpOnly: true, sameSite: "Strict", path: "/", domain: "127.0.0.1", secure: false });
    assert.ok(!(await readable(page)).includes(value));
    assert.equal(await page.getByText("ann", { exact: true }).count(), 1);
    await done(page);
});

await test("ui: a request without the proof of the page changes nothing", async () => {
    const page = await logged_in(TOKENS.ann);
    const status = (method, path, headers = {}) => page.evaluate(async ([how, where, fields]) => (await fetch(where, { method: how, headers: { "Content-Type": "application/json", ...fields }, body: "{}" })).status, [method, path, headers]);
    assert.equal(await status("DELETE", `admin/sandboxes/${boxes.ann}`), 403);
    assert.equal(await status("POST", "mcp/tools/create_sandbox"), 403);
    assert.equal(await status("POST", "mcp/tools/create_sandbox", { "X-CSRF-Token": "0".repeat(64) }), 403);
    assert.equal(await status("POST", `sandbox/file?sandbox_id=${boxes.ann}&file_path=a`), 403);
    assert.equal(await status("POST", "ui/logout"), 403);
    const socket = (...protocols) => page.evaluate(([where, list]) => new Promise((resolve) => {
        const one = new WebSocket(where.replace("http", "ws"), list);
        one.onopen = () => resolve("open");
        one.onerror = () => resolve("refused");
    }), [`${url}/sandbox/shell?sandbox_id=${boxes.ann}`, protocols]);
    assert.equal(await socket("cmcp.shell"), "refused");
    assert.equal(await socket("cmcp.shell", `cmcp.csrf.${"0".repeat(64)}`), "refused");
    page.faults.length = 0;      // the browser tells of the two
    await done(page);
});

await test("ui: two people in two browsers see their own, an administrator everything but what is in sandboxes", async () => {
    const runs = ["ann", "bob"].map((name) => call(url, "system_run_python", { code: `# of ${name}\nimport time\nprint('begun', flush=True)\ntime.sleep(100)`, timeout: 100 }, TOKENS[name]));
    for (const name of ["ann", "bob"]) await call(url, "system_run_command", { command: `: ${name}; kill -9 $$` }, TOKENS[name]);
    const [ann, bob, root] = [await logged_in(TOKENS.ann), await logged_in(TOKENS.bob), await logged_in(TOKENS.root)];
    for (const [page, own, foreign] of [[ann, "ann", "bob"], [bob, "bob", "ann"]]) {
        for (const [pane, mark] of [["now", (name) => `# of ${name}`], ["failed", (name) => `: ${name}; kill`], ["sandboxes", (name) => `box-of-${name}`], ["principals", (name) => name]]) {
            await page.goto(`${url}/ui#${pane}`);
            await row(page, mark(own)).first().waitFor();
            assert.equal(await row(page, mark(foreign)).count(), 0, `${own} sees ${foreign} at ${pane}`);
        }
        assert.equal(await page.getByText("API keys").count(), 0);
        await page.goto(`${url}/ui#sandboxes/${boxes[foreign]}`);
        await page.getByText("This sandbox is gone, or belongs to somebody else.").waitFor();
        await page.goto(`${url}/ui#now`);
        await page.getByRole("list", { name: "Your share" }).waitFor();
    }
    await picture(ann, "one-principal");
    for (const [pane, marks] of [["now", ["# of ann", "# of bob"]], ["failed", [": ann; kill", ": bob; kill"]], ["sandboxes", ["box-of-ann", "box-of-bob"]], ["principals", ["ann", "bob"]]]) {
        await root.goto(`${url}/ui#${pane}`);
        for (const mark of marks) await row(root, mark).first().waitFor();
        await picture(root, `administrator-${pane}`);
    }
    await root.goto(`${url}/ui#sandboxes/${boxes.ann}`);
    await root.getByText("Its files and programs are for ann alone.").waitFor();
    await root.goto(`${url}/ui#now`);
    for (const name of ["ann", "bob"]) {
        await row(root, `# of ${name}`).getByRole("button").click();
        await root.getByRole("button", { name: "End it" }).click();
    }
    for (const run of runs) assert.match((await run).error, /administrator ended/);
    for (const page of [ann, bob, root]) await done(page);
}, 120_000);

await test("ui: a quota that an administrator sets stands beside the use of it", async () => {
    const root = await logged_in(TOKENS.root);
    await root.goto(`${url}/ui#principals`);
    await root.getByRole("button", { name: "Quotas of ann" }).click();
    await root.getByLabel("sandboxes", { exact: true }).fill("4");
    await root.getByRole("button", { name: "Set them" }).click();
    const ann = await logged_in(TOKENS.ann);
    await ann.goto(`${url}/ui#principals`);
    for (const page of [root, ann]) await row(page, "ann").getByText("1 of 4", { exact: true }).waitFor();
    assert.equal(await ann.getByRole("meter", { name: "sandboxes: 1 of 4" }).count(), 1);
    for (const page of [root, ann]) await done(page);
});

await test("ui: an administrator sees the whole audit and up to where it is signed, a caller what is its own", async () => {
    await call(url, "system_env_var", { var_name: "PATH" }, TOKENS.bob);
    const root = await logged_in(TOKENS.root);
    await root.goto(`${url}/ui#audit`);
    await root.getByText("Signed up to record").waitFor();
    await until("bob's call is there", async () => { await root.reload(); await live(root); return await row(root, "system_env_var").filter({ hasText: "bob" }).count() > 0; });
    await row(root, "create_sandbox").filter({ hasText: "box-of-ann" }).first().waitFor();
    await root.getByLabel("Kind of records").selectOption("login");
    await row(root, "token bob").first().waitFor();
    await row(root, "create_sandbox").first().waitFor({ state: "detached" });
    assert.deepEqual(await barriers(root), []);
    await picture(root, "audit");
    const ann = await logged_in(TOKENS.ann);
    await ann.goto(`${url}/ui#audit`);
    await row(ann, "create_sandbox").first().waitFor();
    const shown = await ann.locator("main").innerText();
    assert.ok(!shown.includes("bob") && !shown.includes("root") && !shown.includes("Signed up to"), shown);
    await done(root);
    await done(ann);
});

await test("ui: a key of few scopes opens few buttons", async () => {
    const page = await logged_in(new_key("ann", "--scopes", "mcp:read"));
    await page.goto(`${url}/ui#sandboxes`);
    await row(page, "box-of-ann").waitFor();
    assert.ok(await page.getByRole("button", { name: "New sandbox" }).isDisabled());
    assert.ok(await row(page, "box-of-ann").getByRole("button").isDisabled());
    await page.goto(`${url}/ui#sandboxes/${boxes.ann}/terminal`);
    await page.getByText("needs the scope mcp:run").waitFor();
    await done(page);
});

await test("ui: a key that is revoked while its page is open ends stream, shell and page, and says why", async () => {
    const key = new_key("ann");
    const page = await logged_in(key);
    await page.goto(`${url}/ui#sandboxes/${boxes.ann}/terminal`);
    await page.locator(".screen-rows", { hasText: "$" }).waitFor();
    const shells = async () => (await get(`${url}/admin/usage`, TOKENS.ann)).principals[0].shells;
    assert.equal(await shells(), 1);
    command("key", "revoke", key.split("_")[1]);
    await at_login(page);
    await page.getByText("The API key was revoked; ask for a new one.").waitFor();
    await picture(page, "revoked");
    await until("the shell has ended", async () => await shells() === 0);
    await done(page);
});

await test("ui: who logs out is out in every tab, and the way back shows nothing", async () => {
    const page = await logged_in(TOKENS.ann);
    const other = await page.context().newPage();
    await other.goto(`${url}/ui#now`);
    await live(other);
    await page.getByRole("button", { name: "Log out" }).click();
    await at_login(page);
    await at_login(other);
    await page.goto(`${url}/ui#sandboxes`);
    await page.reload();
    await at_login(page);
    assert.equal((await page.context().cookies()).length, 0);
    await done(page);
});

/// The forms of the authorization server.
async function pass_forms(page, person) {
    await page.getByPlaceholder("Enter any login").fill(person);
    await page.getByPlaceholder("and password").fill("x");
    await page.getByRole("button", { name: "Sign-in" }).click();
    await page.getByRole("button", { name: "Continue" }).click();
}

await test("ui: a person logs in at the authorization server, and again when the token's time is over", async () => {
    const page = await open_page(browser, `${url}/ui`);
    const at_issuer = page.getByRole("link", { name: `Log in at ${new URL(as.issuer).host}` });
    await at_issuer.click();
    await pass_forms(page, "carla");
    await page.waitForURL(`${url}/ui`);
    await live(page);
    await page.getByText(/^oauth-/).first().waitFor();
    assert.deepEqual((await page.context().cookies(url)).filter(({ name }) => name.startsWith("cmcp")).map(({ name, sameSite, httpOnly }) => [name.replace(/[0-9a-f]{8}$/, "…"), sameSite, httpOnly]), [["cmcp-login-…", "Strict", true]]);
    assert.ok(!/eyJ/.test(await readable(page)), "a token is on the page");
    await at_login(page);      // after LIFE seconds
    await page.getByText(/token/i).first().waitFor();
    await at_issuer.click();
    await page.getByRole("button", { name: "Continue" }).click();      // the authorization server knows the person still
    await page.waitForURL(`${url}/ui`);
    await live(page);
    await done(page);
}, 120_000);

await test("ui: a person who refuses at the authorization server reads so, and may begin again", async () => {
    const page = await open_page(browser, `${url}/ui`);
    await page.getByRole("link", { name: /^Log in at/ }).click();
    await page.getByRole("link", { name: "[ Cancel ]" }).click();
    await page.getByText("The authorization server refused: access_denied").waitFor();
    assert.deepEqual(await barriers(page), []);
    await picture(page, "refused-at-issuer");
    await page.getByRole("link", { name: "Back to the login" }).click();
    await at_login(page);
    await done(page);
});

await test("ui: an answer of the authorization server that another browser has begun logs nobody in", async () => {
    const begun = await fetch(`${url}/ui/oauth?issuer=${encodeURIComponent(as.issuer)}`, { redirect: "manual" });
    const answer = await person_logs_in(begun.headers.get("location"), "mallory", `${url}/ui/callback`);
    const victim = await open_page(browser, `${url}/ui/callback?${answer}`);
    await victim.getByText("This login was not begun in this browser").waitFor();
    assert.deepEqual((await victim.context().cookies(url)).filter(({ name }) => name.startsWith("cmcp-login")), []);
    await done(victim);
});

await test("ui: the page works below a path of a proxy", async () => {
    const proxy = await start_prefix_proxy(port, "/tools/mcp");
    const page = await open_page(browser, `${proxy.url}/ui`);
    await log_in(page, TOKENS.ann);
    await live(page);
    await page.goto(`${proxy.url}/ui#sandboxes/${boxes.ann}/terminal`);
    await page.locator(".screen-rows", { hasText: "$" }).waitFor();
    await page.keyboard.type("echo $((6 * 7))\n");
    await page.locator(".screen-rows", { hasText: "\n42" }).or(page.locator(".screen-rows div", { hasText: /^42\s*$/ })).first().waitFor();
    await page.goto(`${proxy.url}/ui#sandboxes`);
    await row(page, "box-of-ann").waitFor();
    assert.equal(new URL(await page.getByRole("link", { name: "Tools" }).evaluate((link) => link.href)).pathname, "/tools/mcp/docs");
    await page.goto(`${proxy.url}/ui/`);
    await live(page);
    assert.equal(new URL(page.url()).pathname, "/tools/mcp/ui");
    const state = await fetch(`${proxy.url}/ui/oauth?issuer=${encodeURIComponent(as.issuer)}`, { redirect: "manual" });
    assert.match(state.headers.get("set-cookie"), /Path=\/tools\/mcp\/ui;/);
    await done(page);
    await proxy.stop();
});

await browser.close();
await as.stop();
await test("ui: the server with logins ends", () => server.stop());
