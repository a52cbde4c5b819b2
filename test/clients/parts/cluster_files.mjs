// Three servers work as one: files, resources, shells and shown ports of a sandbox are reached through any of them.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { reply } from "../lib/caller.mjs";
import { node_of } from "../lib/cluster.mjs";
import { start_rig } from "../lib/cluster_rig.mjs";
import { test, until } from "../lib/report.mjs";
import { open_shell } from "../lib/shell_socket.mjs";

const { cluster, front, ann, names, at, third, boxes, stop } = await start_rig();
const box = boxes.n1;

// ---------------------------------------------------------------- files
const file = (name, handle, file_path) => `${cluster.node(name).url}/sandbox/file?${new URLSearchParams({ sandbox_id: handle, file_path })}`;

async function up_and_down(name, bytes) {
    const digest = createHash("sha256").update(bytes).digest("hex");
    const up = await fetch(file(name, box, "bytes.bin"), { method: "POST", headers: { ...ann.headers, "Content-Type": "application/octet-stream" }, body: bytes });
    assert.equal(up.status, 200, await up.text());
    assert.match(await ann.run(box, "sha256sum bytes.bin"), new RegExp(digest));
    const down = await fetch(file(third(name), box, "bytes.bin"), { headers: ann.headers });
    assert.equal(createHash("sha256").update(Buffer.from(await down.arrayBuffer())).digest("hex"), digest);
}

await test("cluster: files of 1 byte and of 5 MB go up and down through another server", async () => {
    await up_and_down("n2", Buffer.from("x"));
    await up_and_down("n2", randomBytes(5_000_000));
});
await test("cluster: a part of a file comes through another server", async () => {
    const answer = await fetch(file("n3", boxes.n2, "whose"), { headers: { ...ann.headers, Range: "bytes=1-1" } });
    assert.deepEqual([answer.status, answer.headers.get("content-range"), await answer.text()], [206, "bytes 1-1/3", "2"]);
});
await test("cluster: a signed link opens at each server without a token, and no changed one does", async () => {
    const { file_links: [link] } = await at("n2").call("execute_terminal_command", { sandbox_id: box, command: "echo plot > 'a b.txt'" });
    assert(link.startsWith(cluster.node("n2").url), `${link} is not at the server that was asked`);
    for (const name of names) {
        const place = new URL(link);
        place.port = String(cluster.node(name).port);
        assert.equal(await (await fetch(place)).text(), "plot\n");
        place.searchParams.set("file_path", "/app/results/whose");
        assert.equal((await fetch(place)).status, 403);
    }
});
await test("cluster: a resource of a sandbox is read at each server, in each era", async () => {
    const uri = `sandbox://${box}/whose`;
    for (const name of names) {
        assert.equal((await reply(at(name).modern("resources/read", { uri }))).result.contents[0].text, "n1\n");
        assert.equal((await reply((await at(name).session()).post("resources/read", { uri }))).result.contents[0].text, "n1\n");
    }
});

async function hears_changes(uri, file_name, stream) {
    const changes = () => stream.messages().filter(({ method, params }) => method === "notifications/resources/updated" && params.uri === uri).length;
    await until("the other server listens, and what came before may have been missed", () => changes() > 0);
    const before = changes();
    await at("n3").run(box, `date +%N >> ${file_name}`);
    await until("the change is heard", () => changes() > before);
    stream.cut();
}

await test("cluster: a session is told of a file's change at another server", async () => {
    const session = await at("n2").session();
    const stream = session.listen();
    await until("it listens", () => stream.status() === 200);
    await ann.run(box, "touch watched1");
    const uri = `sandbox://${box}/watched1`;
    assert("result" in await reply(session.post("resources/subscribe", { uri })));
    await hears_changes(uri, "watched1", stream);
    assert("result" in await reply(session.post("resources/unsubscribe", { uri })));
});
await test("cluster: a subscription of 2026-07-28 hears of a file's change at another server", async () => {
    await ann.run(box, "touch watched2");
    const uri = `sandbox://${box}/watched2`;
    const stream = at("n2").modern("subscriptions/listen", { notifications: { resourceSubscriptions: [uri] } });
    await until("it listens", () => stream.messages().some(({ method }) => method?.endsWith("acknowledged")));
    assert.deepEqual(stream.messages()[0].params.notifications.resourceSubscriptions, [uri]);
    await hears_changes(uri, "watched2", stream);
});

// ---------------------------------------------------------------- shells and shown ports
await test("cluster: a shell's WebSocket works through another server and through the front: keys, size, end", async () => {
    for (const url of [cluster.node("n2").url, front.url, front.url, front.url]) {
        const shell = await open_shell(url, box, ann.headers);
        shell.type("echo $((6 * 7))x\r");
        await shell.until("42x");
        shell.order({ resize: { cols: 101, rows: 31 } });
        shell.type("stty size\r");
        await shell.until("31 101");
        shell.type("exit 3\r");
        assert.deepEqual(await shell.ended, { exit_code: 3, cause: "exited" });
    }
});
await test("cluster: a shell by its handle is typed into and read at each server", async () => {
    const { shell_id } = await at("n2").call("shell_open", { sandbox_id: box });
    assert.equal(node_of(shell_id), "n1");
    await at("n3").call("shell_send", { shell_id, text: "echo $((7 * 7))", keys: ["enter"] });
    assert.equal((await at("n2").call("shell_read", { shell_id, wait_for: "\n49" })).matched, true);
    assert.equal((await at("n3").call("shell_close", { shell_id })).running, false);
});

function upgrade(url) {
    return new Promise((done, failed) => {
        const fields = { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": randomBytes(16).toString("base64") };
        const request = http.request(url, { headers: fields, agent: false });
        request.on("upgrade", (answer, socket, head) => done({ socket, head })).on("response", ({ statusCode }) => failed(new Error(`status ${statusCode}`))).on("error", failed).end();
    });
}

await test("cluster: a shown port is reached through each server, its WebSockets too, until the link ends", async () => {
    const content = fs.readFileSync(path.resolve(import.meta.dirname, "../../system/support/preview_app.py")).toString("base64");
    await at("n2").call("upload_file_to_sandbox", { sandbox_id: box, content, dest_path: "app.py" });
    await at("n2").run(box, "setsid python3 app.py 5000 > /dev/null 2>&1 &");
    await until("the program listens", async () => (await at("n3").call("list_exposed_ports", { sandbox_id: box })).listening.includes(5000));
    const { url } = await at("n2").call("expose_port", { sandbox_id: box, port: 5000 });
    let directly;
    for (const name of names) {
        const link = new URL(url);
        link.port = String(cluster.node(name).port);
        const seen = await (await fetch(`${link}echo?x=1`, { method: "POST", body: "abc", headers: { "x-own": "yes", authorization: "own", cookie: "a=1" } })).json();
        seen.headers.sort();
        directly ??= seen;
        assert.deepEqual(seen, directly, "the program sees another request than without a server between");
        const { socket, head } = await upgrade(`${link}ws`);
        let heard = head.toString();
        socket.on("data", (piece) => { heard += piece; });
        socket.write("abc");
        await until("the program answers", () => heard === "earlyABC");
        socket.destroy();
    }
    await at("n3").call("unexpose_port", { sandbox_id: box, port: 5000 });
    assert.equal((await fetch(`${url}echo`)).status, 404);
});

await test("cluster: a sandbox is copied, kept and deleted through another server", async () => {
    const { sandbox_id: copy } = await at("n2").call("fork_sandbox", { sandbox_id: box });
    assert.equal(await at("n3").run(copy, "cat whose"), "n1\n");
    await at("n2").call("snapshot_sandbox", { sandbox_id: copy, name: "kept" });
    await at("n3").run(copy, "rm whose");
    await at("n3").call("restore_sandbox", { sandbox_id: copy, snapshot: "kept" });
    assert.equal(await at("n2").run(copy, "cat whose"), "n1\n");
    await at("n3").call("delete_sandbox", { sandbox_id: copy });
    for (const name of names) assert.equal((await at(name).rest("list_sandbox_files", { sandbox_id: copy })).status, 404);
});

await test("cluster: the servers stop and leave nothing", stop);
process.exit();
