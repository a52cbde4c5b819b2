// A terminal at /sandbox/shell, as Node's own WebSocket reaches it.
import { once } from "node:events";
import { until } from "./report.mjs";

export async function open_shell(url, sandbox_id, headers) {
    const socket = new WebSocket(`${url.replace("http", "ws")}/sandbox/shell?sandbox_id=${sandbox_id}&cols=80&rows=24`, { headers });
    socket.binaryType = "arraybuffer";
    let shown = "";
    socket.addEventListener("message", ({ data }) => { shown += typeof data === "string" ? data : Buffer.from(data).toString(); });
    const ended = new Promise((done) => socket.addEventListener("close", ({ code, reason }) => done(reason.startsWith("{") ? JSON.parse(reason) : { code, reason })));
    await Promise.race([once(socket, "open"), ended.then((how) => { throw new Error(`no shell: ${JSON.stringify(how)}`); })]);
    return {
        ended,
        type: (text) => socket.send(Buffer.from(text)),
        order: (what) => socket.send(JSON.stringify(what)),
        until: (text) => until(`${JSON.stringify(text)} is shown`, () => shown.includes(text)),
        close: () => socket.close(),
    };
}
