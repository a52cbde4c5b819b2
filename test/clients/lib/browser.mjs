// A real Chromium at a page of the server, watched for what must not happen there. With CMCP_PICTURES=FOLDER it leaves pictures.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { chromium } from "playwright-core";
import { temporary_folder } from "./server.mjs";

export const start_browser = () => chromium.launch({ executablePath: "/usr/bin/chromium", env: { ...process.env, HOME: temporary_folder() } });

export const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

// A status that is no success is a line on the console, too.
const is_status = (text) => text.startsWith("Failed to load resource");

/// A page in a context of its own. `page.faults` are exceptions, violations of the policy and other errors of its scripts.
export async function open_page(browser, url, options = {}) {
    const context = await browser.newContext({ viewport: { width: 1300, height: 850 }, reducedMotion: "reduce", ...options });
    const page = await context.newPage();
    page.faults = [];
    page.on("pageerror", (error) => page.faults.push(String(error.stack)));
    page.on("console", (message) => { if (message.type() === "error" && !is_status(message.text())) page.faults.push(message.text()); });
    page.on("dialog", (dialog) => { page.faults.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.setDefaultTimeout(30_000);
    await page.goto(url);
    return page;
}

/// Waits until the page follows the server.
export const live = (page) => page.locator("#health .badge", { hasText: /^live$/ }).waitFor();

const pictures = process.env.CMCP_PICTURES;

export async function picture(page, name) {
    if (!pictures) return;
    fs.mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: path.join(pictures, `${name}.png`) });
}

const axe_source = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/// What axe-core finds against WCAG 2.2 AA and its best practices: "rule: element" each.
export async function barriers(page) {
    await page.evaluate(`${axe_source}; 0`);      // through the debugger, so the page's policy does not forbid it
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} (${failureSummary.split("\n").pop().trim()})`));
}

/// How far the page is wider than its window; 0: it need not be moved sideways.
export const overhang = (page) => page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth));

/// POST /mcp/tools/NAME as a program.
export async function call(url, name, body = {}, token) {
    const answer = await fetch(`${url}/mcp/tools/${name}`, { method: "POST", headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) }, body: JSON.stringify(body) });
    const object = await answer.json();
    if (!answer.ok) throw new Error(`${name}: ${answer.status} ${object.error}`);
    return object;
}

export async function get(url, token) {
    const answer = await fetch(url, { headers: token ? { authorization: `Bearer ${token}` } : {} });
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
    return answer.json();
}
