// /ui with ten thousand sandboxes, and with a thousand ends a second, which come from a stream in the server's stead. It takes
// minutes, so scripts/bench-ui runs it.
import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { call, get, live, open_page, overhang, picture, start_browser } from "../lib/browser.mjs";
import { test } from "../lib/report.mjs";
import { start_server } from "../lib/server.mjs";

const MANY = Number(process.env.CMCP_SANDBOXES ?? 10_000), A_SECOND = 1000, KEPT = 200;
const SHOWN = MANY.toLocaleString("en"), ONE = `box-${Math.floor(MANY / 2)}x`;
const server = await start_server({ settings: { AUTH_QUOTAS: `*:sandboxes=${2 * MANY}` } });
const { url } = server;
const browser = await start_browser();
const row = (page, text) => page.locator("tbody tr", { hasText: text });

const timed = async (work) => {
    const from = performance.now();
    await work();
    return `${(performance.now() - from).toFixed(0)} ms`;
};

await test(`ui: ${MANY} sandboxes are paged, ordered and found`, async () => {
    let next = 0;
    const some = async () => { while (next < MANY) await call(url, "create_sandbox", { name: `box-${next++}x` }); };
    await Promise.all(Array.from({ length: 16 }, some));
    assert.equal((await get(`${url}/admin/sandboxes?limit=1`)).total, MANY);
    const page = await open_page(browser, `${url}/ui`);
    await live(page);
    const first = await timed(async () => { await page.goto(`${url}/ui#sandboxes`); await page.getByText(`1–100 of ${SHOWN}`).waitFor(); });
    assert.equal(await page.locator("tbody tr").count(), 100);
    await row(page, `box-${MANY - 1}x`).waitFor();      // used last
    const second = await timed(async () => { await page.getByRole("button", { name: "Next" }).click(); await page.getByText(`101–200 of ${SHOWN}`).waitFor(); });
    await page.getByRole("button", { name: "Previous" }).click();
    await page.getByText(`1–100 of ${SHOWN}`).waitFor();
    const found = await timed(async () => { await page.getByLabel("Name, id or principal").fill(ONE); await page.getByText("1–1 of 1", { exact: true }).waitFor(); });
    assert.equal(await overhang(page), 0);
    await picture(page, "many-sandboxes");
    console.log(`# of ${MANY} sandboxes: the first page after ${first}, the next after ${second}, one by its name after ${found} (0.15 s of which the page waits for further keys)`);
    await page.getByLabel("Name, id or principal").fill("");
    await page.getByText(`1–100 of ${SHOWN}`).waitFor();
    for (let i = 0; i < 3; ++i) await page.getByRole("button", { name: "Next" }).click().then(() => page.getByText(`${100 * (i + 1) + 1}–`).waitFor());
    const ids = new Set();
    for (const sort of ["used", "disk", "id"])
        for (let after = "", rows = 0; after !== null; rows += 1000) {
            const answer = await get(`${url}/admin/sandboxes?limit=1000&sort=${sort}&after=${encodeURIComponent(after)}`);
            for (const each of answer.sandboxes) ids.add(`${sort} ${each.id}`);
            after = answer.next;
        }
    assert.equal(ids.size, 3 * MANY, "pages overlap or leave out");
    assert.deepEqual(page.faults, []);
    await page.context().close();
}, 600_000);

/// Serves what the server does, but for /admin/events: there ends come as the server sends them, twice a second, the newest of them alone.
async function start_flood() {
    const open = new Set();
    const flood = http.createServer((request, response) => {
        if (request.url === "/admin/events") {
            response.writeHead(200, { "content-type": "text/event-stream" });
            response.write(`event: runs\ndata: {"runs":[]}\n\nevent: usage\ndata: {"machine":{"runs":7,"max_runs":8},"principals":[]}\n\nevent: health\ndata: {"status":"ok","problems":[]}\n\n`);
            return open.add(response);
        }
        const onward = http.request(`${url}${request.url}`, { method: request.method, headers: request.headers }, (answer) => { response.writeHead(answer.statusCode, answer.rawHeaders); answer.pipe(response); });
        return request.pipe(onward);
    }).listen(0, "127.0.0.1");
    await once(flood, "listening");
    let number = 0;
    const end = () => JSON.stringify({ at: Date.now() / 1000, principal: "", tool: "system_run_python", cause: ["timeout", "memory_limit", "signalled"][number % 3], sentence: "Timed out after 0.5 s and was ended; what it printed until then is here.", denied: ["name look-up (DNS): the sandbox has no network"], setting: "PYTHON_TIMEOUT_MAX", first_line: `number ${number++}`, sandbox_id: null });
    const timer = setInterval(() => {
        const dropped = Math.max(0, A_SECOND / 2 - KEPT);
        number += dropped;
        const events = Array.from({ length: KEPT }, () => `event: end\ndata: ${end()}\n\n`).join("") + `event: dropped\ndata: {"count":${dropped}}\n\n`;
        for (const each of open) each.write(events);
    }, 500);
    const stop = () => { clearInterval(timer); flood.closeAllConnections(); return new Promise((done) => flood.close(done)); };
    return { url: `http://127.0.0.1:${flood.address().port}`, stop, sent: () => number };
}

await test(`ui: ${A_SECOND} ends a second leave the page of use`, async () => {
    const flood = await start_flood();
    const page = await open_page(browser, `${flood.url}/ui#failed`);
    await page.evaluate(() => {
        globalThis.slowest = 0;
        let last = performance.now();
        const look = (now) => { globalThis.slowest = Math.max(globalThis.slowest, now - last); last = now; requestAnimationFrame(look); };
        requestAnimationFrame(look);
    });
    await page.getByText(/^1000 a second;.* came too fast to be shown$/).or(page.getByText(/\b9\d\d a second;.* came too fast/)).first().waitFor();
    assert.equal(await page.locator("tbody tr").count(), KEPT);
    await page.getByLabel(/^Filter/).fill("memory_limit");
    await page.locator("tbody .badge", { hasText: /^timeout$/ }).first().waitFor({ state: "detached" });
    await row(page, "memory_limit").first().waitFor();
    await page.getByLabel(/^Filter/).fill("");
    await page.getByRole("button", { name: "Hold still" }).click();
    const top = await page.locator("tbody tr").first().textContent();
    await page.getByText(/more than 200 new since/).waitFor();
    assert.equal(await page.locator("tbody tr").first().textContent(), top, "the list that is held moves");
    await picture(page, "flood");
    await page.getByRole("button", { name: "Hold still" }).click();
    await page.goto(`${flood.url}/ui#now`);
    await page.getByText("7 of 8").waitFor();
    const { slowest, heap } = await page.evaluate(() => ({ slowest: globalThis.slowest, heap: performance.memory.usedJSHeapSize }));
    console.log(`# under ${A_SECOND} ends a second: the longest time between two frames ${slowest.toFixed(0)} ms, ${(heap / 2 ** 20).toFixed(0)} MiB of heap`);
    assert.deepEqual(page.faults, []);
    await page.context().close();
    await flood.stop();
}, 120_000);

await browser.close();
await test("ui: the server with many sandboxes ends", () => server.stop());
