// The terminal of /ui: keys, colours, sizes, pasting, the end; and its screen beside the one that the server draws.
import assert from "node:assert/strict";
import fs from "node:fs";
import { PHONE, barriers, call, get, open_page, overhang, picture, start_browser } from "../lib/browser.mjs";
import { test as report, until } from "../lib/report.mjs";
import { start_server } from "../lib/server.mjs";

const server = await start_server({ settings: { AUTH_QUOTAS: "*:shells=2" } });
const { url } = server;
const browser = await start_browser();
const box = (await call(url, "create_sandbox", { name: "terminal" })).sandbox_id;
const place = `${url}/ui#sandboxes/${box}/terminal`;
const line = (page, text) => page.locator(".screen-rows div", { hasText: text });
const shells = async () => ((await get(`${url}/admin/usage`)).principals[0] ?? { shells: 0 }).shells;

// A test that fails leaves no shell to the next one.
const test = (name, body, limit) => report(name, async () => {
    try { await body(); } finally { await Promise.all(browser.contexts().map((context) => context.close())); }
}, limit);

async function open_terminal(options) {
    const page = await open_page(browser, place, options);
    await line(page, /\$/).first().waitFor();
    return page;
}

async function type(page, text) {
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
}

async function done(page) {
    assert.deepEqual(page.faults, []);
    await page.context().close();
    await until("the shell ends with its page", async () => await shells() === 0);
}

await test("ui: what is typed goes to a shell, and its screen has colours", async () => {
    const page = await open_terminal();
    await type(page, "printf '\\033[1;31mred\\033[0m \\033[42mgreen\\033[0m \\033[38;5;208morange\\033[0m \\033[48;2;1;2;3mdeep\\033[0m %s\\n' $((6 * 7))");
    await line(page, /^red green orange deep 42/).waitFor();
    assert.match(await page.locator(".screen-rows .f1.bold, .screen-rows .bold.f1").first().textContent(), /red/);
    assert.equal(await page.locator(".screen-rows .b2").count(), 1);
    const styles = await page.locator(".screen-rows span[style]").evaluateAll((spans) => spans.map(({ style }) => style.color || style.backgroundColor));
    assert.deepEqual(styles, ["rgb(255, 135, 0)", "rgb(1, 2, 3)"]);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("echo ");
    await page.keyboard.press("Enter");
    await line(page, /^printf/).waitFor();
    await type(page, "touch a-file-of-this-name; echo $((7 * 7))");
    await line(page, /^49/).waitFor();
    await page.keyboard.type("cat a-fi");
    await page.keyboard.press("Tab");
    await type(page, "; echo $?");
    await line(page, /^0\s*$/).first().waitFor();
    await picture(page, "terminal");
    await done(page);
});

await test("ui: control keys interrupt, end input, and copy what is selected", async () => {
    const page = await open_terminal({ permissions: ["clipboard-read", "clipboard-write"] });
    await type(page, "echo begun; sleep 1000");
    await line(page, /^begun/).waitFor();
    await page.keyboard.press("Control+c");
    await line(page, /\^C/).waitFor();
    await line(page, /\$\s*$/).waitFor();  // what is typed ahead of the prompt may be lost to the change of the terminal
    await type(page, "echo copy-of-this");
    await line(page, /^copy-of-this/).waitFor();
    await line(page, /^copy-of-this/).click({ clickCount: 3 });
    await page.keyboard.press("Control+c");
    await until("it is copied", async () => (await page.evaluate(() => navigator.clipboard.readText())).trim() === "copy-of-this");
    await page.locator(".screen").click();
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "TEXTAREA", "a click does not lead into the terminal");
    await page.keyboard.press("Shift+Tab");
    assert.notEqual(await page.evaluate(() => document.activeElement.tagName), "TEXTAREA", "the keyboard cannot leave");
    await page.locator(".screen").click();
    await page.keyboard.press("Control+d");
    await page.getByText("The shell has ended with exit code").waitFor();
    await page.getByRole("button", { name: "Open another shell" }).click();
    await line(page, /\$/).first().waitFor();
    await type(page, "exit 3");
    await page.getByText("The shell has ended with exit code 3.").waitFor();
    await done(page);
});

await test("ui: a paste of lines waits for Enter where the shell asks for that, and a long one arrives whole", async () => {
    const page = await open_terminal({ permissions: ["clipboard-read", "clipboard-write"] });
    const paste = async (text) => { await page.evaluate((all) => navigator.clipboard.writeText(all), text); await page.keyboard.press("Control+v"); };
    await paste("echo one\necho two");
    await line(page, /echo two/).waitFor();
    assert.equal(await line(page, /^one/).count(), 0, "a line ran before Enter");
    await page.keyboard.press("Enter");
    await line(page, /^two/).waitFor();
    await type(page, "stty -echo -icanon; echo ready; head -c 200000 | md5sum; stty sane");
    await line(page, /^ready/).waitFor();      // before, a line of the terminal has room for 4,095 bytes
    await paste("0123456789".repeat(20_000));
    await line(page, /[0-9a-f]{32} {2}-/).waitFor();
    const { createHash } = await import("node:crypto");
    assert.equal(await line(page, createHash("md5").update("0123456789".repeat(20_000)).digest("hex")).count(), 1);
    await done(page);
});

await test("ui: the terminal has the size of its window, also after a change", async () => {
    const page = await open_terminal();
    let looks = 0;
    const size = async () => {
        const size_line = new RegExp(`^size${++looks} (\\d+) (\\d+) tput \\d+ \\d+\\s*$`);
        await type(page, `clear; echo "size${looks} $(stty size) tput $(tput lines) $(tput cols)"`);
        await line(page, size_line).waitFor();
        const [, rows, columns] = size_line.exec(await line(page, size_line).textContent());
        return [Number(rows), Number(columns)];
    };
    const [rows, columns] = await size();
    assert.equal(await page.locator(".screen-rows").evaluate((all) => all.parentElement.scrollHeight <= all.parentElement.clientHeight), true, "the rows do not fit");
    await page.setViewportSize({ width: 700, height: 700 });
    await until("the screen is narrower", async () => (await page.locator(".screen-rows div").first().textContent()).length < columns);
    const [fewer_rows, fewer_columns] = await size();
    assert.ok(fewer_columns < columns && fewer_rows < rows, `${[rows, columns]} ${[fewer_rows, fewer_columns]}`);
    await done(page);
});

await test("ui: a program of the whole screen leaves what was there before, and much output leaves the page of use", async () => {
    const page = await open_terminal();
    await type(page, "echo before; seq 500 | less");
    await line(page, /^1\s*$/).waitFor();
    assert.equal(await line(page, /before/).count(), 0);
    await page.keyboard.type("G");
    await line(page, /^500\s*$/).waitFor();
    await picture(page, "terminal-less");
    await page.keyboard.type("q");
    await line(page, /^before/).waitFor();
    const from = performance.now();
    await type(page, "seq 300000; echo end-of-it");
    await line(page, /^end-of-it/).waitFor();
    console.log(`# 300,000 lines (2 MB) were on the terminal after ${(performance.now() - from).toFixed(0)} ms`);
    assert.ok(await page.locator(".screen-rows div").count() < 2500, "the history has no end");
    await page.locator(".screen").evaluate((view) => { view.scrollTop = 0; });
    assert.ok(Number(await page.locator(".screen-rows div").first().textContent()) > 297_000, "the history is not the latest");
    await done(page);
});

await test("ui: a screen reader hears the output, and a phone has the keys that it lacks", async () => {
    const page = await open_terminal(PHONE);
    await type(page, "echo to-be-heard");
    await until("it is said", async () => /to-be-heard/.test(await page.getByRole("log", { name: "Output" }).textContent()));
    await type(page, "echo begun; sleep 1000");
    await line(page, /^begun/).waitFor();  // a line that is interrupted before the shell has read it is in no history
    await page.getByRole("button", { name: "Control C" }).tap();
    await line(page, /\^C/).waitFor();
    await line(page, /\$\s*$/).waitFor();
    await page.getByRole("button", { name: "Up" }).tap();
    await line(page, /\$ echo begun; sleep 1000/).nth(1).waitFor();
    assert.deepEqual(await barriers(page), []);
    assert.equal(await overhang(page), 0);
    await picture(page, "terminal-phone");
    await done(page);
});

await test("ui: more shells than the quota allows are refused with the server's sentence", async () => {
    const pages = [await open_terminal(), await open_terminal()];
    const third = await open_page(browser, place);
    await third.getByText(/AUTH_QUOTAS=\*:shells/).waitFor();
    await picture(third, "terminal-quota");
    await pages[0].goto(`${url}/ui#now`);
    await until("leaving the terminal ends its shell", async () => await shells() === 1);
    await third.getByRole("button", { name: "Open another shell" }).click();
    await line(third, /\$/).first().waitFor();
    for (const page of [...pages, third]) await page.context().close();
    await until("all shells have ended", async () => await shells() === 0);
});

// ---------------------------------------------------------------- the screen itself
const source = fs.readFileSync(new URL("../../../source/inbound/pages/ui/screen.js", import.meta.url));
const { Screen } = await import(`data:text/javascript;base64,${source.toString("base64")}`);

/// The same numbers for the same seed (xorshift32).
function numbers(seed) {
    let state = seed;
    return (below) => {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        return (state >>> 0) % below;
    };
}

function hostile_output(seed, length) {
    const any = numbers(seed);
    const of = (list) => list[any(list.length)];
    const number = () => of(["", "0", "1", "2", String(any(30)), String(any(200)), "99999"]);
    const pieces = [
        () => Array.from({ length: any(60) }, () => of([..."abcXYZ 0123456789-_"])).join(""),
        () => of(["你好", "日本", "é", "█", "😀"]),
        () => of(["\r\n", "\n", "\r", "\b", "\t", "\x0e", "\x0f", "\x07"]),
        () => `\x1b[${number()}${of([..."ABCDEFGIZ`ade"])}`,
        () => `\x1b[${number()};${number()}${of(["H", "f"])}`,
        () => `\x1b[${number()}${of([..."JKXPL@MSTb"])}`,
        () => `\x1b[${1 + any(12)};${1 + any(24)}r`,
        () => `\x1b[?${of(["7", "25", "1049", "47", "1048", "1"])}${of(["h", "l"])}`,
        () => `\x1b[4${of(["h", "l"])}`,
        () => `\x1b[${number()};${number()};${number()}m`,
        () => `\x1b${of(["7", "8", "D", "E", "M", "(0", "(B", "=", ">"])}`,
        () => `\x1b]0;title ${any(100)}${of(["\x07", "\x1b\\"])}`,
    ];
    return Array.from({ length }, () => of(pieces)()).join("");
}

const hostile_end = "\x1b]0;end of it\x07";  // a title, which no screen shows

await test("ui: the terminal draws what the server's own screen draws, whatever comes", async () => {
    for (let seed = 1; seed <= 12; ++seed) {
        const shell = await call(url, "shell_open", { sandbox_id: box, cols: 60, rows: 24 });
        const id = shell.shell_id;
        await call(url, "file_write", { sandbox_id: box, path: "hostile", content: `${hostile_output(seed * 7919, 400)}\x1b[?1049l\x1b[r\x1b[4l\x1b[?7h\x1b(B\x0f\x1b[24;1H${hostile_end}` });
        await call(url, "shell_send", { shell_id: id, text: "stty raw -echo; cat hostile; sleep 1000\n" });
        let all;
        do all = await call(url, "shell_read", { shell_id: id, cursor: 0, quiet_ms: 500, timeout: 20, raw: true, max_output: 1_000_000 });
        while (!all.text.includes(hostile_end));
        const seen = await call(url, "shell_read", { shell_id: id, cursor: 0, quiet_ms: 100, timeout: 20, screen: true });
        const screen = new Screen(60, 24);
        const characters = [...all.text];
        for (let at = 0; at < characters.length; at += 7) screen.write(characters.slice(at, at + 7).join(""));
        assert.equal(screen.text().trimEnd(), seen.text.trimEnd(), `seed ${seed}`);
        assert.deepEqual([screen.cursor.row + 1, screen.column() + 1], [seen.cursor_row, seen.cursor_column], `seed ${seed}`);
        await call(url, "shell_close", { shell_id: id });
    }
}, 120_000);

await test("ui: a screen answers what programs ask it, and nothing that they make up", async () => {
    const answers = [];
    const screen = new Screen(20, 5, (text) => answers.push(text));
    screen.write("ab\x1b[6n\x1b[5n\x1b[c\x1b[>c\x1b[21t\x1bP$q\"p\x1b\\\x1b]0;rm -rf\x07\x1b[0x\x1b]11;?\x07");
    assert.deepEqual(answers.filter(Boolean), ["\x1b[1;3R", "\x1b[0n", "\x1b[?1;2c", "\x1b[>0;0;0c"]);
});

await browser.close();
await test("ui: the server with terminals ends", () => server.stop());
