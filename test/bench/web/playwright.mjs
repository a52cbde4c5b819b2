// Drives Chromium as scripts/bench-web orders: one line of JSON in, {do, url, wait}, one line out, {length}.
//   cold: a browser is started for the page. warm: a new context in the browser that is there. Both end after the answer.
// With --once URL WAIT it does one cold page and ends. $BENCH_CHROMIUM is the browser.
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const launch = () => chromium.launch({ executablePath: process.env.BENCH_CHROMIUM, args: ["--disable-gpu"] });
let kept = null;

async function show(browser, url, wait) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    await page.goto(url, { waitUntil: wait });
    return { length: (await page.content()).length, context };
}

async function cold(url, wait) {
    const browser = await launch();
    const { length } = await show(browser, url, wait);
    return { length, end: () => browser.close() };
}

async function warm(url, wait) {
    kept ??= await launch();
    const { length, context } = await show(kept, url, wait);
    return { length, end: () => context.close() };
}

const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\n");

if (process.argv[2] === "--once") {
    const { length, end } = await cold(process.argv[3], process.argv[4]);
    say({ length });
    await end();
} else {
    for await (const line of createInterface({ input: process.stdin })) {
        const order = JSON.parse(line);
        const { length, end } = await (order.do === "cold" ? cold : warm)(order.url, order.wait);
        say({ length });
        await end();
    }
    await kept?.close();
}
