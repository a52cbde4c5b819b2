// Hostile texts in every pane of /ui, and hostile pages of sandboxes beside it, which try to use the login of their reader.
import assert from "node:assert/strict";
import { call, get, live, open_page, picture, start_browser } from "../lib/browser.mjs";
import { test } from "../lib/report.mjs";
import { start_server } from "../lib/server.mjs";

const TOKEN = "a-token-of-ann-for-tests";
const settings = { MCP_AUTH_TOKENS: `ann=${TOKEN}`, AUTH_ADMINS: "ann" };
const server = await start_server({ settings });
const { url } = server;
const browser = await start_browser();
const as_ann = (name, body) => call(url, name, body, TOKEN);

const MARKUP = `"'><img src=x onerror=pwned=1><script>pwned=1</script><svg onload=pwned=1>\u202e{{7*7}}`;

async function log_in(page) {
    await page.getByLabel("API key or token").fill(TOKEN);
    await page.getByRole("button", { name: "Log in" }).click();
    await live(page);
}

// What a previewed page tries is refused by the policy of its frame, which names no source of its own.
const is_refusal_of_frame = (fault) => /violates the following Content Security Policy directive: "(img-src data: blob:|default-src 'none')"/.test(fault);

/// Texts are text wherever they are shown.
async function assert_harmless(page, place) {
    const found = await page.evaluate(() => [globalThis.pwned, document.querySelectorAll("img[src=x], svg:not(.curve), script:not([src]), [onerror], [onload], a[href^='javascript:']").length]);
    assert.deepEqual(found, [undefined, 0], place);
    assert.deepEqual(page.faults.filter((fault) => !is_refusal_of_frame(fault)), [], place);
}

await test("ui: markup in names, code, output, files and reasons is text in every pane", async () => {
    const box = await as_ann("create_sandbox", { name: MARKUP.slice(0, 60) }).catch(() => as_ann("create_sandbox", { name: "plain" }));
    const id = box.sandbox_id;
    await as_ann("execute_python_code", { sandbox_id: id, code: `import os\nname = ${JSON.stringify(MARKUP)}.replace("/", "")\nopen(name, "w").write(name)\nopen(name + ".html", "w").write(name)\nopen(name + ".svg", "w").write("<svg xmlns='http://www.w3.org/2000/svg' onload='pwned=1'><script>pwned=1</script></svg>")\nos.mkdir("d" + name)` });
    await as_ann("snapshot_sandbox", { sandbox_id: id, name: MARKUP }).catch(() => as_ann("snapshot_sandbox", { sandbox_id: id }));
    const run = fetch(`${url}/mcp/tools/system_run_python`, { method: "POST", headers: { "content-type": "application/json", authorization: `Bearer ${TOKEN}`, "user-agent": MARKUP.replace(/[^ -~]/g, "") }, body: JSON.stringify({ code: `# ${MARKUP}\nimport time\nprint(${JSON.stringify(MARKUP)}, flush=True)\ntime.sleep(60)`, timeout: 60 }) });
    await as_ann("system_run_command", { command: `: '${MARKUP.replaceAll("'", "")}'; kill -9 $$` });
    await as_ann("system_run_command", { command: `echo '${MARKUP.replaceAll("'", "")}'`, run_in_background: true });
    await as_ann("web_scrape", { url: "http://127.0.0.1:1/<img src=x onerror=pwned=1>" }).catch(() => {});
    const hello = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: MARKUP, version: MARKUP } } };
    await fetch(`${url}/mcp`, { method: "POST", headers: { "content-type": "application/json", accept: "application/json, text/event-stream", authorization: `Bearer ${TOKEN}` }, body: JSON.stringify(hello) });
    await fetch(`${url}/admin/keys`, { method: "POST", headers: { "content-type": "application/json", authorization: `Bearer ${TOKEN}` }, body: JSON.stringify({ principal: "robot", note: MARKUP }) });
    const page = await open_page(browser, `${url}/ui`);
    await log_in(page);
    const shown = (text) => page.getByText(text).first().waitFor();
    for (const [place, text] of [["now", /onerror=pwned=1/], ["failed", /onerror=pwned=1/], ["jobs", /onerror=pwned=1/], ["sessions", /onerror=pwned=1/], ["principals", /onerror=pwned=1/], ["network", /127\.0\.0\.1/], ["sandboxes", /sbx_/],
        [`sandboxes/${id}`, /onerror=pwned=1/], [`sandboxes/${id}/snapshots`, /Restore/]]) {
        await page.goto(`${url}/ui#${place}`);
        await shown(text);
        await assert_harmless(page, place);
        await picture(page, `hostile-${place.replace(id, "box").replaceAll("/", "-")}`);
    }
    await page.goto(`${url}/ui#now`);
    await page.locator("summary").first().click();
    await shown(/49|\{\{7/);
    await page.getByRole("button", { name: /^End/ }).first().click();
    await assert_harmless(page, "a question");
    await page.getByRole("button", { name: "End it" }).click();
    await run;
    await page.goto(`${url}/ui#sandboxes/${id}`);
    for (const [name, shown_as] of [[/onload=pwned=1>[^.]*$/, "pre.text"], [/\.html$/, "iframe.shown"], [/\.svg$/, "img.picture"]]) {
        await page.getByRole("link", { name }).and(page.locator("td.name a[href*='/file/']")).first().click();
        await page.locator(shown_as).waitFor();
        await assert_harmless(page, "a file");
        await page.goBack();
    }
    for (const part of ["history", "packages", "ports", "network"]) {
        await page.goto(`${url}/ui#sandboxes/${id}/${part}`);
        await page.locator("#main[aria-busy=false]").waitFor();
        for (const summary of await page.locator(".part summary").all()) await summary.click();
        await assert_harmless(page, part);
    }
    for (const hash of [`#sandboxes/${encodeURIComponent(MARKUP)}`, `#sandboxes/${id}/files/${encodeURIComponent(MARKUP)}`, `#${encodeURIComponent(MARKUP)}`, "#%", "#__proto__", "#constructor"]) {
        await page.goto(`${url}/ui${hash}`);
        await page.locator("#main[aria-busy=false]").waitFor();
        await assert_harmless(page, hash);
    }
    await page.context().close();
}, 120_000);

/// A page of a sandbox in a preview's frame, which tries to reach whoever reads it, and what lies behind the login.
const FRAMED = (base) => `<!doctype html><body><script>
const base = ${JSON.stringify(base)}, found = {};
const tries = {
  parent: async () => parent.document.body.textContent,
  top: async () => { top.location = base + "/docs"; return ""; },
  cookie: async () => document.cookie,
  storage: async () => String(localStorage.length),
  session: async () => (await (await fetch(base + "/ui/session", { credentials: "include" })).text()),
  elsewhere: async () => new Promise((resolve) => { const image = new Image(); image.onload = () => resolve("drawn"); image.onerror = () => resolve(""); image.src = base + "/sandbox/file?sandbox_id=BOX&file_path=dot.png"; }),
  popup: async () => String(open(base + "/ui") || ""),
  frame: async () => new Promise((resolve) => { const one = document.createElement("iframe"); one.src = base + "/ui"; one.onload = () => { let text = ""; try { text = one.contentDocument.body.textContent; } catch { text = ""; } resolve(text); }; one.onerror = () => resolve(""); document.body.append(one); }),
  script: async () => new Promise((resolve) => { const one = document.createElement("script"); one.onload = () => resolve("run"); one.onerror = () => resolve(""); one.src = base + "/ui/page.js"; document.body.append(one); }),
  form: async () => { const one = document.createElement("form"); one.method = "post"; one.action = base + "/ui/logout"; document.body.append(one); one.submit(); return ""; },
};
(async () => {
  for (const [name, act] of Object.entries(tries)) { try { found[name] = await act(); } catch (problem) { found[name] = ""; } }
  const place = document.createElement("pre"); place.id = "found"; place.textContent = JSON.stringify(found); document.body.append(place);
})();
</script></body>`;

await test("ui: a page in a preview, in a cell's output and in Markdown reaches nothing of the page around it", async () => {
    const id = (await as_ann("create_sandbox")).sandbox_id;
    const markdown = `# ${MARKUP}\n\n[click](javascript:pwned=1) [click](data:text/html,x) ![x](https://tracker.test/x.png) ![x](x.png"onerror=pwned=1)\n\n<img src=x onerror=pwned=1>\n\n| ${MARKUP.replaceAll("|", "")} |\n|---|\n| ${MARKUP} |\n\n\`\`\`python\n${MARKUP}\n\`\`\`\n${"> ".repeat(300)}deep\n${Array.from({ length: 300 }, (_, n) => `${" ".repeat(n)}- deep`).join("\n")}\n${"[".repeat(50_000)}\n# ${"#".repeat(50_000)}x\n`;
    const notebook = JSON.stringify({ metadata: {}, cells: [{ cell_type: "markdown", source: markdown }, { cell_type: "code", source: MARKUP, outputs: [{ output_type: "display_data", data: { "text/html": MARKUP, "image/png": `x" onerror="pwned=1` } }, { output_type: "error", traceback: [MARKUP] }] }] });
    const files = { "page.html": FRAMED(url).replace("BOX", id), "bad.md": markdown, "bad.ipynb": notebook, "odd.ipynb": "[1", "bad.csv": `${MARKUP},b\n"${MARKUP}`, "bad.py": MARKUP };
    for (const [name, body] of Object.entries(files)) await fetch(`${url}/sandbox/file?sandbox_id=${id}&file_path=${name}`, { method: "POST", headers: { "content-type": "application/octet-stream", authorization: `Bearer ${TOKEN}` }, body });
    const page = await open_page(browser, `${url}/ui#sandboxes/${id}/file/page.html`);
    const asked = [];
    page.on("request", (request) => { if (!request.url().startsWith(url) && !request.url().startsWith("data:")) asked.push(request.url()); });
    await log_in(page);
    const found = JSON.parse(await page.frameLocator("iframe.shown").locator("#found").textContent());
    assert.equal(Object.keys(found).length, 10);
    for (const [name, text] of Object.entries(found)) assert.equal(text, "", `${name}: ${String(text).slice(0, 200)}`);
    page.faults.length = 0;      // what the frame tried is refused on the console
    for (const [name, shown_as] of [["bad.md", ".prose h4"], ["bad.ipynb", "section.cell"], ["odd.ipynb", "pre.text"], ["bad.csv", "table.data"], ["bad.py", "pre.text"]]) {
        await page.goto(`${url}/ui#sandboxes/${id}/file/${name}`);
        await page.locator(shown_as).first().waitFor();
        await assert_harmless(page, name);
        await picture(page, `hostile-${name}`);
    }
    await page.goto(`${url}/ui#sandboxes/${id}/code`);
    await page.getByLabel("Python code").fill(`class T:\n    def _repr_html_(self): return """${FRAMED(url).replace("BOX", id).replaceAll("\\", "\\\\")}"""\nprint(${JSON.stringify(MARKUP)})\nT()`);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const output = JSON.parse(await page.frameLocator("iframe.shown").locator("#found").textContent());
    assert.equal(Object.keys(output).length, 10);
    for (const [name, text] of Object.entries(output)) assert.equal(text, "", `${name}: ${String(text).slice(0, 200)}`);
    assert.deepEqual(asked, [], "the page asked another server");
    await page.reload();
    await live(page);      // nobody was logged out
    assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
    await page.context().close();
}, 120_000);

await test("ui: a file is shown in a frame of this page alone, and only where it is a page or a PDF", async () => {
    const id = (await as_ann("create_sandbox")).sandbox_id;
    for (const name of ["a.html", "a.pdf", "a.js", "a.txt", "a.svg"]) await fetch(`${url}/sandbox/file?sandbox_id=${id}&file_path=${name}`, { method: "POST", headers: { "content-type": "application/octet-stream", authorization: `Bearer ${TOKEN}` }, body: "x" });
    const fields = async (name) => { const answer = await fetch(`${url}/sandbox/file?sandbox_id=${id}&file_path=${name}&in_frame=1`, { headers: { authorization: `Bearer ${TOKEN}` } }); return [answer.headers.get("content-security-policy"), answer.headers.get("content-disposition"), answer.headers.get("x-content-type-options")]; };
    for (const name of ["a.html", "a.svg"]) {
        const [policy, disposition, sniff] = await fields(name);
        assert.match(policy, /^sandbox allow-scripts; default-src 'none';.*frame-ancestors 'self'$/);
        assert.doesNotMatch(policy, /connect-src|allow-same-origin|https?:/);
        assert.deepEqual([disposition, sniff], ["inline", "nosniff"]);
    }
    assert.match((await fields("a.pdf"))[0], /^default-src 'none';.*frame-ancestors 'self'$/);
    for (const name of ["a.js", "a.txt"]) assert.deepEqual((await fields(name)).map((field) => field.split(";")[0]), ["sandbox", "attachment", "nosniff"]);
});

await test("ui: a program cannot make the terminal say anything to the shell, nor the page run anything", async () => {
    const box = await as_ann("create_sandbox");
    await as_ann("execute_python_code", { sandbox_id: box.sandbox_id, code: `open("evil", "wb").write(b"\\x1b]0;" + ${JSON.stringify(MARKUP)}.encode() + b"\\x07\\x1b[21t\\x1bP$qm\\x1b\\\\\\x1b]52;c;cHduZWQ=\\x07\\x1b]8;;javascript:pwned=1\\x07click\\x1b]8;;\\x07" + ${JSON.stringify(MARKUP)}.encode() + b"\\x1b[6nnext\\n")` });
    const page = await open_page(browser, `${url}/ui#sandboxes/${box.sandbox_id}/terminal`);
    await log_in(page);
    await page.locator(".screen-rows", { hasText: "$" }).waitFor();
    await page.keyboard.type("cat evil; read -t 2 -d R answer; echo \"[${answer#?}]\"\n");
    await page.locator(".screen-rows div", { hasText: /\[\[\d+;\d+\]/ }).waitFor();      // the cursor's place, and nothing else
    await assert_harmless(page, "the terminal");
    assert.ok(!/pwned/.test(await page.title()));
    await page.context().close();
});

/// A page that tries what it can, and leaves what came of it in its body.
const HOSTILE_PAGE = (base, box) => `<!doctype html><title>trying</title><body><script>
const base = ${JSON.stringify(base)}, box = ${JSON.stringify(box)}, found = {};
const tries = {
  cookie: async () => document.cookie,
  storage: async () => String(localStorage.length),
  runs: async () => (await (await fetch(base + "/admin/runs", { credentials: "include" })).text()),
  session: async () => (await (await fetch(base + "/ui/session", { credentials: "include" })).text()),
  opaque: async () => String((await fetch(base + "/admin/runs", { credentials: "include", mode: "no-cors" })).status),
  tool: async () => (await (await fetch(base + "/mcp/tools/create_sandbox", { method: "POST", credentials: "include", headers: { "Content-Type": "application/json" }, body: "{}" })).text()),
  login: async () => (await (await fetch(base + "/ui/login", { method: "POST", credentials: "include", headers: { "Content-Type": "application/json" }, body: '{"token":"x"}' })).text()),
  file: async () => new Promise((resolve) => { const image = new Image(); image.onload = () => resolve("drawn"); image.onerror = () => resolve(""); image.src = base + "/sandbox/file?sandbox_id=" + box + "&file_path=dot.png"; }),
  script: async () => new Promise((resolve) => { const one = document.createElement("script"); one.onload = () => resolve("run"); one.onerror = () => resolve(""); one.src = base + "/ui/session"; document.body.append(one); }),
  events: async () => new Promise((resolve) => { const one = new EventSource(base + "/admin/events", { withCredentials: true }); one.onopen = () => resolve("open"); one.onerror = () => resolve(""); }),
  shell: async () => new Promise((resolve) => { const one = new WebSocket(base.replace("http", "ws") + "/sandbox/shell?sandbox_id=" + box, ["cmcp.shell"]); one.onopen = () => resolve("open"); one.onerror = () => resolve(""); }),
  frame: async () => new Promise((resolve) => { const one = document.createElement("iframe"); one.src = base + "/ui"; one.onload = () => { let text = ""; try { text = one.contentDocument.body.textContent; } catch { text = ""; } resolve(text); }; document.body.append(one); }),
  window: async () => new Promise((resolve) => { const one = open(base + "/ui", "w"); setTimeout(() => { let text = ""; try { text = one.document.body.textContent; } catch { text = ""; } if (one) one.close(); resolve(text); }, 1000); }),
  worker: async () => { await navigator.serviceWorker.register("w.js"); return "registered"; },
};
(async () => {
  for (const [name, act] of Object.entries(tries)) { try { found[name] = await act(); } catch (problem) { found[name] = ""; } }
  document.title = "tried";
  const place = document.createElement("pre"); place.id = "found"; place.textContent = JSON.stringify(found); document.body.append(place);
})();
</script><form id="form" method="post" enctype="text/plain" action="${base}/ui/logout"><input name='{"a":"' value='"}'></form></body>`;

async function serve_hostile_page(base, token) {
    const box = (await call(base, "create_sandbox", {}, token)).sandbox_id;
    const files = { "index.html": HOSTILE_PAGE(base, box), "w.js": "self.onfetch = () => {};", "dot.png": "" };
    for (const [path, content] of Object.entries(files)) await call(base, "file_write", { sandbox_id: box, path, content }, token);
    await call(base, "execute_python_code", { sandbox_id: box, code: "import base64\nopen('dot.png', 'wb').write(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='))" }, token);
    await call(base, "execute_terminal_command", { sandbox_id: box, command: "nohup python3 -m http.server 8080 > /tmp/log 2>&1 & until (exec 3<> /dev/tcp/127.0.0.1/8080) 2> /dev/null; do :; done" }, token);
    return { box, link: (await call(base, "expose_port", { sandbox_id: box, port: 8080 }, token)).url };
}

/// Everything that a page found out.
async function tried(page) {
    await page.waitForFunction(() => document.title === "tried");
    return JSON.parse(await page.locator("#found").textContent());
}

const NOTHING = (text) => text === "" || text === "0" || /"error"/.test(text);

async function assert_found_nothing(page, base, token) {
    const found = await tried(page);
    for (const [name, text] of Object.entries(found)) assert.ok(NOTHING(text), `${name}: ${String(text).slice(0, 200)}`);
    assert.ok(!JSON.stringify(found).includes("csrf"), "it reads the proof");
    const before = (await get(`${base}/admin/sandboxes`, token)).total;
    await page.evaluate(() => document.getElementById("form").submit());
    await page.waitForURL(/logout/).catch(() => {});
    assert.equal((await get(`${base}/admin/sandboxes`, token)).total, before);
}

await test("ui: a hostile page below a path of the server's own origin cannot use the login of its reader", async () => {
    const { link } = await serve_hostile_page(url, TOKEN);
    assert.ok(link.startsWith(`${url}/preview/`));
    const page = await open_page(browser, `${url}/ui`);
    await log_in(page);
    const hostile = await page.context().newPage();
    await hostile.goto(`${link}index.html`);
    await assert_found_nothing(hostile, url, TOKEN);
    await page.reload();
    await live(page);      // nobody was logged out
    await page.context().close();
});

await test("ui: the same where nobody has to log in, because whoever is on this machine administers the server", async () => {
    const open = await start_server();
    const { link } = await serve_hostile_page(open.url);
    const hostile = await open_page(browser, `${link}index.html`);
    await assert_found_nothing(hostile, open.url);
    await hostile.context().close();
    await open.stop();
});

await test("ui: the same for a hostile page with an origin of its own below MCP_PREVIEW_DOMAIN", async () => {
    const other = await start_server({ settings: { ...settings, MCP_PREVIEW_DOMAIN: "preview.localhost" } });
    const here = other.url.replace("127.0.0.1", "localhost");
    const { link } = await serve_hostile_page(here, TOKEN);
    assert.match(link, /^http:\/\/8080-[0-9a-f]{32}-[a-z0-9-]+\.preview\.localhost:/);
    const page = await open_page(browser, `${here}/ui`);
    await log_in(page);
    const hostile = await page.context().newPage();
    await hostile.goto(link);
    const found = await tried(hostile);
    delete found.worker;      // of its own origin alone
    for (const [name, text] of Object.entries(found)) assert.ok(NOTHING(text), `${name}: ${String(text).slice(0, 200)}`);
    assert.ok(!hostile.url().includes("cmcp"), "the link's token stays in the address");
    await page.reload();
    await live(page);
    await page.context().close();
    await other.stop();
});

await browser.close();
await test("ui: the server among hostile pages ends", () => server.stop());
