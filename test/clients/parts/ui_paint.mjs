// How soon /ui is painted, beside a page of one line from the same server (/healthz) in the same browser, which is the browser's own
// part. Both by turns, each in a context of its own, so without anything kept. scripts/bench-ui runs it.
import { median } from "../lib/by_turns.mjs";
import assert from "node:assert/strict";
import { open_page, start_browser } from "../lib/browser.mjs";
import { test } from "../lib/report.mjs";
import { start_server } from "../lib/server.mjs";

const TURNS = Number(process.env.CMCP_TURNS ?? 25), WARM_UP = 3;
const server = await start_server();
const { url } = server;
const browser = await start_browser();

const painted = () => {
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    if (!paint) return null;
    const navigation = performance.getEntriesByType("navigation")[0];
    const requests = performance.getEntriesByType("resource");
    return { paint: paint.startTime, answered: navigation.responseEnd, blocking: requests.filter((each) => each.renderBlockingStatus === "blocking").length, requests: 1 + requests.length };
};

/// Milliseconds from the beginning of the navigation, and what was fetched.
async function look_at(address, is_shown) {
    const page = await open_page(browser, address);
    const shown = await (await page.waitForFunction(is_shown, null, { polling: "raf" })).jsonValue();
    const figures = await (await page.waitForFunction(painted)).jsonValue();
    assert.deepEqual(page.faults, []);
    await page.context().close();
    return { ...figures, shown };
}

const quarter = (all) => [...all].sort((one, other) => one - other)[all.length >> 2];
const of = (rows, name, act = median) => act(rows.map((row) => row[name])).toFixed(0);
const figures_of = (rows) => `first contentful paint ${of(rows, "paint")} ms (lower quartile ${of(rows, "paint", quarter)}), answered after ${of(rows, "answered")} ms`;

await test(`ui: the first paint, by turns with a page of one line, ${TURNS} times`, async () => {
    const rows = { empty: [], ui: [] };
    for (let turn = -WARM_UP; turn < TURNS; ++turn)
        for (const [name, address, is_shown] of [["empty", `${url}/healthz`, () => performance.now()], ["ui", `${url}/ui`, () => document.querySelector("#health .badge") && document.querySelector("#main[aria-busy=false]") && performance.now()]]) {
            const row = await look_at(address, is_shown);
            if (turn >= 0) rows[name].push(row);
        }
    const more = rows.ui.map((row, turn) => row.paint - rows.empty[turn].paint);
    console.log(`# a page of one line: ${figures_of(rows.empty)}`);
    console.log(`# /ui: ${figures_of(rows.ui)}; ${of(rows.ui, "blocking")} files block it, ${of(rows.ui, "requests")} requests in all; its first pane is filled after ${of(rows.ui, "shown")} ms`);
    console.log(`# /ui is painted ${median(more).toFixed(0)} ms after the page of one line (median of the differences in each turn)`);
}, 600_000);

await browser.close();
await test("ui: the server that was painted ends", () => server.stop());
