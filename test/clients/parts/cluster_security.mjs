// A cluster admits its members alone, believes them alone, and connects to them alone.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import tls from "node:tls";
import { make_authority } from "../lib/authority.mjs";
import { caller, reply } from "../lib/caller.mjs";
import { start_cluster } from "../lib/cluster.mjs";
import { test } from "../lib/report.mjs";
import { environment, program } from "../lib/server.mjs";
import { open_shell } from "../lib/shell_socket.mjs";
import { open } from "../lib/wire.mjs";

const TOKENS = { ann: "a".repeat(32), bob: "b".repeat(32) };
const MCP_AUTH_TOKENS = Object.entries(TOKENS).map((each) => each.join("=")).join(",");
const cluster = await start_cluster({ settings: { MCP_AUTH_TOKENS, BASH_ALLOWED_COMMANDS: "*", MCP_TASK_AFTER: "1" } });
const [owner, other] = cluster.nodes;
const [ann, bob] = Object.values(TOKENS).map((token) => new caller(other.url, token));
const secret = "ann-only-5f1c2e";
const sandbox = (await ann.at(owner.url).call("create_sandbox")).sandbox_id;
await ann.run(sandbox, `echo ${secret} > secret.txt`);
const job = (await ann.call("execute_terminal_command", { sandbox_id: sandbox, command: `echo ${secret}; sleep 300`, run_in_background: true })).job_id;
const session = await ann.at(owner.url).session();

// ---------------------------------------------------------------- requests with a handle, in each form
const refused_reply = async (exchange) => {
    const message = await reply(exchange);
    return { failed: "error" in message || message.result.isError === true, text: JSON.stringify(message) };
};
const refused_rest = ({ status, value }) => ({ failed: status === 404, text: JSON.stringify(value) });
const refused_http = async (answer) => ({ failed: answer.status >= 400 && answer.status < 500, text: await answer.text() });

async function refused_shell(who, handle) {
    try {
        const shell = await open_shell(who.url, handle, who.headers);
        shell.close();
        return { failed: false, text: "a shell" };
    } catch (error) {
        return { failed: true, text: error.message };
    }
}

async function refused_open(exchange) {
    await exchange.ended;
    return { failed: exchange.status() >= 400 && exchange.status() < 500, text: JSON.stringify(exchange.messages()) };
}

/// Every way to name a handle, as {what: () => ({failed, text})}. `h` has a handle of each kind.
function ways(who, h, headers = {}) {
    const with_session = { ...who.headers, ...headers, "Mcp-Session-Id": h.session, "MCP-Protocol-Version": "2025-11-25" };
    const file = `/sandbox/file?${new URLSearchParams({ sandbox_id: h.sandbox, file_path: "secret.txt" })}`;
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    return {
        "file_read by REST": async () => refused_rest(await who.rest("file_read", { sandbox_id: h.sandbox, path: "secret.txt" }, headers)),
        "job_poll by REST": async () => refused_rest(await who.rest("job_poll", { job_id: h.job }, headers)),
        "delete_sandbox by REST": async () => refused_rest(await who.rest("delete_sandbox", { sandbox_id: h.sandbox }, headers)),
        "a stateless call": () => refused_reply(who.modern("tools/call", { name: "file_read", arguments: { sandbox_id: h.sandbox, path: "secret.txt" } }, { headers })),
        "a call in a session": async () => refused_reply((await who.session()).call("file_read", { sandbox_id: h.sandbox, path: "secret.txt" })),
        "tasks/get": () => refused_reply(who.modern("tasks/get", { taskId: h.job }, { headers })),
        "tasks/cancel": () => refused_reply(who.modern("tasks/cancel", { taskId: h.job }, { headers })),
        "resources/read": () => refused_reply(who.modern("resources/read", { uri: `sandbox://${h.sandbox}/secret.txt` }, { headers })),
        "a download": async () => refused_http(await who.get(file, headers)),
        "an upload": async () => refused_http(await fetch(who.url + file, { method: "POST", body: "overwritten", headers: { ...who.headers, ...headers, "Content-Type": "text/plain" } })),
        "a shell": () => refused_shell(who, encodeURIComponent(h.sandbox)),
        "a POST to the session": () => refused_open(open(`${who.url}/mcp`, { headers: with_session, body: list })),
        "the session's stream": () => refused_open(open(`${who.url}/mcp`, { method: "GET", headers: { ...with_session, Accept: "text/event-stream" } })),
        "the session's end": () => refused_open(open(`${who.url}/mcp`, { method: "DELETE", headers: with_session })),
        "a POST to the session of SSE": async () => refused_http(await fetch(`${who.url}/messages?${new URLSearchParams({ sessionId: h.session })}`, { method: "POST", body: JSON.stringify(list), headers: { ...who.headers, ...headers, "Content-Type": "application/json" } })),
    };
}

async function none_works(all) {
    const faults = [];
    for (const [what, attempt] of Object.entries(all)) {
        const { failed, text } = await attempt();
        if (!failed || text.includes(secret)) faults.push(`${what}: ${text.slice(0, 200)}`);
    }
    assert.deepEqual(faults, []);
}

async function all_is_there() {
    assert.equal(await ann.run(sandbox, "cat secret.txt"), `${secret}\n`);
    assert.equal((await ann.call("job_poll", { job_id: job })).state, "running");
    assert("result" in await reply(session.post("ping")));
}

const hers = { sandbox, job, session: session.id };

await test("cluster security: another caller reaches nothing through another server", async () => {
    await none_works(ways(bob, hers));
    assert.deepEqual((await bob.call("list_sandboxes")).sandboxes, []);
    assert.deepEqual((await bob.call("job_list")).jobs, []);
    await all_is_there();
});

/// What an administrator may ask of other servers.
async function administers_nothing(who, headers = {}) {
    for (const node of ["*", ...cluster.nodes.map(({ name }) => name)]) {
        for (const list of ["runs", "sandboxes", "sessions", "jobs", "usage", "ends", "audit", "layers"]) {
            const answer = await who.get(`/admin/${list}?node=${encodeURIComponent(node)}`, headers);
            assert([401, 403].includes(answer.status), `${list} of ${node}: ${answer.status}`);
            assert(!(await answer.text()).includes(sandbox), `${list} of ${node}`);
        }
        for (const place of [`sandboxes/${sandbox}`, `jobs/${job}`, `runs/${job}`]) {
            const { status } = await fetch(`${who.url}/admin/${place}?node=${encodeURIComponent(node)}`, { method: "DELETE", headers: { ...who.headers, ...headers } });
            assert([401, 403].includes(status), `the end of ${place} at ${node}: ${status}`);
        }
    }
    await all_is_there();
}

await test("cluster security: a caller who is no administrator asks no server for what others have", async () => {
    for (const who of [bob, bob.at(owner.url), new caller(other.url)]) await administers_nothing(who);
});

const claim = (more) => Buffer.from(JSON.stringify({ address: "127.0.0.1", host: "", secure: false, login: { principal: "ann", credential: "token:ann", scopes: "mcp:read mcp:run mcp:admin", profile: "", from: 1 }, ...more })).toString("base64url");

for (const [form, value] of Object.entries({ "a request": claim({}), "a message": claim({ revision: "2026-07-28", profile: "", server: "", program: false }) })) {
    await test(`cluster security: who claims in ${form} to pass it on for somebody is not believed`, async () => {
        const headers = { "cmcp-member-caller": value };
        for (const who of [bob, new caller(other.url)]) await administers_nothing(who, headers);
        for (const { url } of cluster.nodes) {
            await none_works(ways(bob.at(url), hers, headers));
            assert.deepEqual((await bob.at(url).rest("list_sandboxes", {}, headers)).value.sandboxes, []);
            const nobody = new caller(url);
            assert.equal((await nobody.rest("list_sandboxes", {}, headers)).status, 401);
            assert.equal((await nobody.get("/admin/sandboxes", headers)).status, 401);
            assert.equal((await bob.at(url).get("/admin/keys", headers)).status, 403);
        }
        await all_is_there();
    });
}

// ---------------------------------------------------------------- handles that lead nowhere
await test("cluster security: a handle of no member connects to nothing and is not found", async () => {
    let connections = 0;
    const canary = net.createServer((socket) => { ++connections; socket.destroy(); }).listen(0, "127.0.0.1");
    await once(canary, "listening");
    const { port } = canary.address();
    const nodes = ["n9", `127.0.0.1:${port}`, `localhost:${port}`, `n2=127.0.0.1:${port}`, `n1@127.0.0.1:${port}`, "..", "../n1", "../../n1", "N1", "", "n1.", ".n1", `n1/../${port}`, `[::1]:${port}`, "n1%00", "n1\u0000", "n1 ", "x".repeat(5000)];
    const digits = sandbox.split("_")[2];
    for (const node of nodes) {
        const named = (kind) => `${kind}_${node}_${digits}`;
        const all = ways(ann, { sandbox: named("sbx"), job: named("job"), session: "ses_n9_" + digits });
        // A field of a header has no such characters.
        const in_header = /^[\x21-\x7e]*$/.test(node) && node.length < 1000;
        if (!in_header) for (const what of ["a stateless call", "tasks/get", "tasks/cancel", "resources/read", "a call in a session"]) delete all[what];
        await none_works(all);
        if (in_header) await none_works(Object.fromEntries(Object.entries(ways(ann, { ...hers, session: named("ses") })).filter(([what]) => what.includes("session") && !what.includes("call"))));
        assert((await fetch(`${other.url}/preview/5000.${encodeURIComponent(named("sbx"))}.9999999999.190e114366a54fe3.584efa1fec57bbb72bfc9352300830c9/`)).status >= 400);
    }
    canary.close();
    assert.equal(connections, 0, "a handle of a client became an address");
    await all_is_there();
});

// ---------------------------------------------------------------- as long as the login
const command = (node, ...words) => execFileSync(program, words, { env: environment(node.folder), encoding: "utf8" });

await test("cluster security: a shell through another server lasts as long as its login, and no longer", async () => {
    const { key, id } = JSON.parse(command(other, "key", "create", "ann", "--json"));
    const shell = await open_shell(other.url, sandbox, { Authorization: `Bearer ${key}` });
    shell.type("sleep 5; echo $((6 * 8))y\r");
    await shell.until("48y");
    command(other, "key", "revoke", id);
    await shell.ended;
    await all_is_there();
});

// ---------------------------------------------------------------- the members' port
/// The first line that the port answers to a request, or why there is none.
function ask(port, options) {
    return new Promise((done) => {
        const socket = tls.connect({ port, host: "127.0.0.1", servername: owner.name, ca: fs.readFileSync(cluster.authority.certificate), ...options });
        let heard = "";
        const end = (why) => { socket.destroy(); done(heard ? heard.split("\r\n")[0] : why); };
        socket.on("data", (piece) => { heard += piece; if (heard.includes("\r\n")) end(); });
        socket.on("error", ({ code }) => end(code)).on("close", () => end("closed")).setTimeout(20_000, () => end("silence"));
        const request = `GET /admin/sandboxes HTTP/1.1\r\nHost: ${owner.name}\r\ncmcp-member-caller: ${claim({})}\r\n\r\n`;
        socket.on("secureConnect", () => socket.write(request));
    });
}

const pair = ({ key, certificate }) => ({ key: fs.readFileSync(key), cert: fs.readFileSync(certificate) });
const is_answer = (text) => /^HTTP\/1\.1 2/.test(text);

await test("cluster security: the members' port answers a member", async () => {
    const heard = await ask(owner.member_port, pair(cluster.authority.sign(other.name)));
    assert(is_answer(heard), heard);
});
const strangers = {
    "no certificate": {},
    "a certificate of another authority": pair(make_authority().sign("n2")),
    "a certificate of the authority for a name that is no member's": pair(cluster.authority.sign("n9")),
    "a certificate for a name that begins like a member's": pair(cluster.authority.sign("n2.example.com")),
    "a member's certificate in TLS 1.2": { ...pair(cluster.authority.sign("n2")), maxVersion: "TLSv1.2" },
};
for (const [what, options] of Object.entries(strangers)) {
    await test(`cluster security: the members' port refuses ${what}`, async () => {
        const heard = await ask(owner.member_port, options);
        assert(!is_answer(heard) && heard !== "silence", heard);
    });
}
await test("cluster security: the members' port refuses plain HTTP", async () => {
    const answer = await fetch(`http://127.0.0.1:${owner.member_port}/admin/sandboxes`, { headers: { ...ann.headers, "cmcp-member-caller": claim({}) } }).catch(() => ({ status: 400 }));
    assert.equal(answer.status, 400);
});
await test("cluster security: a token is worth nothing at the members' port without a certificate", async () => {
    const heard = await ask(owner.member_port, {});
    assert(!is_answer(heard), heard);
    await all_is_there();
});

await test("cluster security: the servers stop and leave nothing", () => cluster.stop());
process.exit();
