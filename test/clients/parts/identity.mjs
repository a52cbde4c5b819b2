// OAuth with a certified authorization server and both official SDKs, API keys beside it, and the checks that open proposals for the
// conformance suite name for servers.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import { CALLBACK, CLIENT_DOCUMENT, log_in, machine_token, start_authorization_server } from "../lib/authorization_server.mjs";
import { test, until } from "../lib/report.mjs";
import { environment, free_port, program, start_server } from "../lib/server.mjs";

const as = await start_authorization_server();
const server = await start_server({ settings: { AUTH_ISSUERS: as.issuer } });
const resource = `${server.url}/mcp`;
const ORDINARY = "mcp:read mcp:files mcp:run mcp:sandboxes mcp:packages mcp:web";

const SDKS = { sdk: ["@modelcontextprotocol/sdk/client/index.js", "@modelcontextprotocol/sdk/client/streamableHttp.js"], client2: ["@modelcontextprotocol/client", "@modelcontextprotocol/client"] };

/// A client of an SDK and its person. `scopes`: what it asks for at first, in place of what the server names.
class Person {
    constructor(sdk, name, { known = false, document, scope } = {}) {
        Object.assign(this, { sdk, name, known, scope, registered: [], asked: [], information: known ? { client_id: "known" } : undefined });
        const self = this;
        this.provider = {
            clientMetadataUrl: document,
            get redirectUrl() { return CALLBACK; },
            get clientMetadata() { return { client_name: name, redirect_uris: [CALLBACK], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"], token_endpoint_auth_method: "none", ...(self.scope ? { scope: self.scope } : {}) }; },
            clientInformation: () => self.information,
            saveClientInformation(of) { self.information = of; self.registered.push(of.scope); },
            tokens: () => self.tokens,
            saveTokens(of) { self.tokens = of; },
            async redirectToAuthorization(to) {
                self.asked.push(to.searchParams);
                self.answer = await log_in(to, name);
                if (self.answer.has("error")) throw new Error(`${self.answer.get("error")}: ${self.answer.get("error_description")}`);
            },
            saveCodeVerifier(of) { self.verifier = of; },
            codeVerifier: () => self.verifier,
        };
    }

    async connect(url = resource) {
        const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all(SDKS[this.sdk].map((name) => import(name)));
        this.client = new Client({ name: this.name, version: "1" });
        for (let tries = 0; ; ++tries) {
            this.transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: this.provider });
            try {
                await this.client.connect(this.transport);
                return this;
            } catch (error) {
                if (tries > 1 || !this.answer) throw error;
                await this.finish();
            }
        }
    }

    async finish() {
        const answer = this.answer;
        this.answer = undefined;
        await this.transport.finishAuth(this.sdk === "sdk" ? answer.get("code") : answer);     // the second wants code and iss
    }

    /// Calls a tool; steps up as often as the server asks for more.
    async call(name, args = {}) {
        for (let tries = 0; ; ++tries) {
            try {
                return await this.client.callTool({ name, arguments: args });
            } catch (error) {
                if (tries > 1 || !this.answer) throw error;
                await this.finish();
            }
        }
    }
}

const challenge_of = (reply) => Object.fromEntries([...reply.headers.get("www-authenticate").split(/, DPoP /)[0].matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));

const message = (method, params = {}) => ({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} } } });

function post(url, body, token, headers = {}) {
    return fetch(url, {
        method: "POST", body: JSON.stringify(body),
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28", "mcp-method": body.method, ...(body.params?.name ? { "mcp-name": body.params.name } : {}), ...(token ? { authorization: `Bearer ${token}` } : {}), ...headers },
    });
}

const run_python = (code) => message("tools/call", { name: "system_run_python", arguments: { code } });

for (const sdk of Object.keys(SDKS)) {
    for (const known of [false, true]) {
        const how = known ? "registered before" : "registered dynamically";
        await test(`identity: ${sdk}: a client that is ${how} logs in and runs code`, async () => {
            const person = await new Person(sdk, `ann-${sdk}`, { known }).connect();
            const result = await person.call("system_run_python", { code: "print(6 * 7)" });
            assert.match(JSON.stringify(result), /42/);
            assert.equal(person.asked.length, 1);
            assert.equal(person.asked[0].get("resource"), resource);
            assert.equal(person.asked[0].get("code_challenge_method"), "S256");
            for (const scope of ORDINARY.split(" ")) assert.ok(person.asked[0].get("scope").split(" ").includes(scope), scope);
            await person.client.close();
        });
    }

    await test(`identity: ${sdk}: a client that is known by its metadata document logs in and runs code`, async () => {
        const person = await new Person(sdk, `doc-${sdk}`, { document: CLIENT_DOCUMENT }).connect();
        assert.match(JSON.stringify(await person.call("system_run_python", { code: "print(6 * 7)" })), /42/);
        assert.equal(person.asked[0].get("client_id"), CLIENT_DOCUMENT);
        await person.client.close();
    });

    await test(`identity: ${sdk}: a token of few scopes steps up when a tool needs more`, async () => {
        const person = new Person(sdk, `few-${sdk}`, { known: true, scope: "mcp:read" });
        const asked = person.provider.redirectToAuthorization;
        person.provider.redirectToAuthorization = async (to) => {      // a person who gives as little as can be, at first
            if (person.asked.length === 0) to.searchParams.set("scope", "mcp:read");
            await asked(to);
        };
        await person.connect();
        assert.equal(person.tokens.scope, "mcp:read");
        const names = (await person.client.listTools()).tools.map(({ name }) => name);
        assert.ok(names.includes("system_run_python"), "a tool that a step-up opens is listed");
        person.tokens = { ...person.tokens, refresh_token: undefined };      // with one, SDK 1 refreshes where it should step up
        const result = await person.call("system_run_python", { code: "print('up')" });
        assert.match(JSON.stringify(result), /up/);
        assert.equal(person.asked.length, 2);
        assert.deepEqual(person.asked[1].get("scope").split(" ").filter((each) => each.startsWith("mcp:")).sort(), ["mcp:read", "mcp:run"]);
        await person.client.close();
    });

    await test(`identity: ${sdk}: a token that the server does not take any more is refreshed without the person`, async () => {
        const person = await new Person(sdk, `fresh-${sdk}`).connect();
        assert.ok(person.tokens.refresh_token);
        const before = person.asked.length;
        person.tokens = { ...person.tokens, access_token: person.tokens.access_token.slice(0, -8) + "AAAAAAAA" };
        assert.match(JSON.stringify(await person.call("system_run_python", { code: "print('again')" })), /again/);
        assert.equal(person.asked.length, before);
        await person.client.close();
    });
}

await test("identity: two people have files of their own", async () => {
    const [ann, bob] = [await new Person("sdk", "files-ann").connect(), await new Person("client2", "files-bob").connect()];
    await ann.call("file_write", { path: "mine.txt", content: "of ann" });
    assert.match(JSON.stringify(await ann.call("file_read", { path: "mine.txt" })), /of ann/);
    assert.doesNotMatch(JSON.stringify(await bob.call("file_list", { path: "/" })), /mine/);
    const again = await new Person("client2", "files-ann").connect();      // the same person with another client
    assert.match(JSON.stringify(await again.call("file_read", { path: "mine.txt" })), /of ann/);
    for (const each of [ann, bob, again]) await each.client.close();
});

await test("identity: a session belongs to its person", async () => {
    const ann = await machine_token(as, { resource });
    const hello = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } } };
    const old = { "mcp-protocol-version": "2025-11-25" };
    const opened = await post(resource, hello, ann, old);
    const session = { ...old, "mcp-session-id": opened.headers.get("mcp-session-id") };
    const bob = await new Person("sdk", "thief").connect();
    const list = { jsonrpc: "2.0", id: 2, method: "tools/list", params: {} };
    assert.equal((await post(resource, list, ann, session)).status, 200);
    assert.equal((await post(resource, list, bob.tokens.access_token, session)).status, 404);
    assert.equal((await post(resource, list, undefined, session)).status, 401);
    await bob.client.close();
});

// By the names of the open proposals.
await test("identity: auth/prm-resource: metadata is at both places and names the resource that was asked for", async () => {
    for (const suffix of ["", "/mcp", "/sse"]) {
        const about = await (await fetch(`${server.url}/.well-known/oauth-protected-resource${suffix}`)).json();
        assert.equal(about.resource, server.url + suffix);
        assert.deepEqual(about.authorization_servers, [as.issuer]);
        assert.deepEqual(about.scopes_supported, ORDINARY.split(" "));
        assert.deepEqual(about.bearer_methods_supported, ["header"]);
        assert.ok(!JSON.stringify(about).includes("offline_access"));
    }
    assert.equal((await fetch(`${server.url}/.well-known/oauth-protected-resource/other`)).status, 404);
});

await test("identity: auth/www-authenticate: 401 names metadata and every ordinary scope, and no error where no token came", async () => {
    for (const [place, body] of [["/mcp", message("tools/list")], ["/mcp/tools/system_info", {}]]) {
        const reply = await post(server.url + place, body);
        assert.equal(reply.status, 401);
        const { resource_metadata, scope, error } = challenge_of(reply);
        assert.equal(resource_metadata, `${server.url}/.well-known/oauth-protected-resource${place === "/mcp" ? "/mcp" : ""}`);
        assert.equal((await fetch(resource_metadata)).status, 200);
        assert.equal(scope, ORDINARY);
        assert.equal(error, undefined);
    }
    const stream = await fetch(`${server.url}/sse`, { headers: { accept: "text/event-stream" } });
    assert.equal(stream.status, 401);
    assert.equal(challenge_of(stream).resource_metadata, `${server.url}/.well-known/oauth-protected-resource/sse`);
});

await test("identity: auth/invalid-token: garbage, unsigned, self-signed and tampered tokens get 401 with invalid_token", async () => {
    const good = await machine_token(as, { resource });
    const [header, claims, signature] = good.split(".");
    const part = (of) => Buffer.from(JSON.stringify(of)).toString("base64url");
    const read = JSON.parse(Buffer.from(claims, "base64url"));
    const { privateKey } = crypto.generateKeyPairSync("rsa", { modulusLength: 2048 });
    const sign = (text) => crypto.sign("sha256", Buffer.from(text), privateKey).toString("base64url");
    const own = `${header}.${claims}`;
    const cases = { garbage: "garbage", unsigned: `${own}.`, none: `${part({ alg: "none", typ: "at+jwt" })}.${claims}.`, "self-signed": `${own}.${sign(own)}`, tampered: `${header}.${part({ ...read, scope: "mcp:admin" })}.${signature}` };
    assert.equal((await post(resource, run_python("1"), good)).status, 200);
    for (const [what, token] of Object.entries(cases)) {
        const reply = await post(resource, run_python("1"), token);
        assert.equal(reply.status, 401, what);
        assert.equal(challenge_of(reply).error, "invalid_token", what);
    }
    const query = await post(`${resource}?access_token=${good}`, run_python("1"));
    assert.equal(query.status, 401, "a token in the query");
});

await test("identity: auth/audience: a token for another server is refused", async () => {
    const other = await machine_token(as, { resource: "http://127.0.0.1:1/mcp" });
    assert.equal((await post(resource, run_python("1"), other)).status, 401);
    for (const mine of [server.url, `${server.url}/sse`])
        assert.equal((await post(resource, run_python("1"), await machine_token(as, { resource: mine }))).status, 200, mine);
});

await test("identity: auth/scope-challenge: one 403 names all that the operation needs, before anything runs", async () => {
    const low = await machine_token(as, { resource, scope: "mcp:read" });
    const refused = [
        [resource, run_python("open('ran','w')"), "mcp:read mcp:run"],
        [resource, message("tools/call", { name: "file_write", arguments: { path: "ran", content: "" } }), "mcp:read mcp:files"],
        [`${server.url}/mcp/tools/web_search`, {}, "mcp:read mcp:web"],
        [`${server.url}/sandbox/file?sandbox_id=x&file_path=y`, {}, "mcp:read mcp:files"],
    ];
    for (const [url, body, scopes] of refused) {
        const reply = await post(url, body, low);
        const { error, scope, resource_metadata } = challenge_of(reply);
        assert.deepEqual([reply.status, error, scope], [403, "insufficient_scope", scopes], url);
        assert.ok(resource_metadata);
    }
    assert.equal((await post(resource, message("resources/list"), low)).status, 200);
    const none = await machine_token(as, { resource, scope: "" });
    const reply = await post(resource, message("resources/read", { uri: "file:///ran" }), none);
    assert.deepEqual([reply.status, challenge_of(reply).scope], [403, "mcp:read"]);
    assert.doesNotMatch(await (await post(resource, message("tools/call", { name: "file_list", arguments: { path: "/" } }), low)).text(), /"ran"/);
});

await test("identity: auth/scope-challenge: a batch needs the union, and old sessions and /sse answer the POST with 403", async () => {
    const low = await machine_token(as, { resource, scope: "mcp:read" });
    const old = { "mcp-protocol-version": "2025-03-26" };
    const opened = await post(resource, { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "t", version: "1" } } }, low, old);
    const session = { ...old, "mcp-session-id": opened.headers.get("mcp-session-id") };
    const call = (id, name) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: {} } });
    const reply = await post(resource, [call(1, "system_run_python"), call(2, "system_info"), call(3, "web_search")], low, session);
    assert.deepEqual([reply.status, challenge_of(reply).scope], [403, "mcp:read mcp:run mcp:web"]);
    const stream = await fetch(`${server.url}/sse`, { headers: { accept: "text/event-stream", authorization: `Bearer ${low}` } });
    const first = new TextDecoder().decode((await stream.body.getReader().read()).value);
    const endpoint = new URL(first.match(/data: (.+)/)[1], server.url);
    assert.equal((await post(endpoint, call(1, "system_run_python"), low)).status, 403);
    assert.equal((await post(endpoint, call(1, "system_info"), low)).status, 202);
});

await test("identity: DPoP: a bound token needs a proof of its key for this request, once", async () => {
    const { privateKey, publicKey } = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" });
    const part = (of) => Buffer.from(JSON.stringify(of)).toString("base64url");
    const { kty, crv, x, y } = publicKey.export({ format: "jwk" });
    const proof = (claims) => {
        const text = `${part({ alg: "ES256", typ: "dpop+jwt", jwk: { kty, crv, x, y } })}.${part({ jti: crypto.randomUUID(), iat: Math.floor(Date.now() / 1000), ...claims })}`;
        return `${text}.${crypto.sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
    };
    const token = await machine_token(as, { resource, headers: { dpop: proof({ htm: "POST", htu: `${as.issuer}/token` }) } });
    const ath = crypto.createHash("sha256").update(token).digest("base64url");
    const good = proof({ htm: "POST", htu: resource, ath });
    const send = (dpop, scheme = "DPoP") => post(resource, run_python("print(1)"), undefined, { authorization: `${scheme} ${token}`, ...(dpop ? { dpop } : {}) });
    assert.equal((await send(good)).status, 200);
    for (const [what, reply] of [["again", await send(good)], ["as Bearer", await send(undefined, "Bearer")], ["without a proof", await send()], ["for another address", await send(proof({ htm: "POST", htu: server.url, ath }))]])
        assert.equal(reply.status, 401, what);
    assert.equal((await send(proof({ htm: "POST", htu: resource, ath }))).status, 200);
});

const keys = { CMCP: { env: environment(server.folder), encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] } };
const command = (...words) => execFileSync(program, words, keys.CMCP);

await test("identity: an API key works beside the authorization server, at once, until it is revoked", async () => {
    const { key, id } = JSON.parse(command("key", "create", "robot", "--scopes", "mcp:run", "--profile", "agent", "--json"));
    assert.equal((await post(resource, run_python("print(1)"), key)).status, 200);
    const listed = JSON.parse((await (await post(resource, message("tools/list"), key)).text()).replace(/^[^{]*/, "")).result.tools.map(({ name }) => name);
    assert.ok(listed.includes("execute_python_code") && !listed.includes("file_write"), `the profile's tools within its scopes: ${listed}`);
    assert.equal((await post(resource, message("tools/call", { name: "file_write", arguments: { path: "x", content: "" } }), key)).status, 403);
    assert.ok(!command("key", "list", "--json").includes(key.slice(-43)));
    command("key", "revoke", id);
    let reply;      // a key that was looked at counts for a second
    await until("the key is refused", async () => (reply = await post(resource, run_python("print(1)"), key)).status !== 200);
    assert.equal(reply.status, 401);
    assert.match(await reply.text(), /revoked/);
});

await test("identity: a person and a key that are linked to one name have the same files", async () => {
    const person = await new Person("sdk", "carol").connect();
    const { sub } = JSON.parse(Buffer.from(person.tokens.access_token.split(".")[1], "base64url"));
    command("principal", "link", "carol", "--issuer", as.issuer, "--subject", sub);
    const { key } = JSON.parse(command("key", "create", "carol", "--json"));
    await post(resource, message("tools/call", { name: "file_write", arguments: { path: "shared.txt", content: "by key" } }), key);
    const again = await new Person("sdk", "carol").connect();
    assert.match(JSON.stringify(await again.call("file_read", { path: "shared.txt" })), /by key/);
    for (const each of [person, again]) await each.client.close();
});

await test("identity: no token, code or secret stands in the server's log, its arguments or its environment", async () => {
    const person = await new Person("client2", "watched").connect();
    await person.call("system_run_command", { command: "cat /proc/self/environ /proc/1/cmdline; env" });
    const shown = JSON.stringify(await person.call("system_run_command", { command: "grep -r . /proc/self/environ; env; ls -la /" }));
    const parts = [person.tokens.access_token, person.tokens.refresh_token, person.tokens.access_token.split(".")[2]];
    const log = fs.readFileSync(server.log, "utf8");
    const own = ["environ", "cmdline"].map((name) => fs.readFileSync(`/proc/${server.pid}/${name}`, "latin1")).join("\n");
    for (const secret of parts) for (const text of [log, own, shown]) assert.ok(!text.includes(secret));
    await person.client.close();
});

await test("identity: the issuer was asked for its keys once", () => {
    assert.equal(as.asked.filter((url) => url.startsWith("/jwks")).length, 1);
});

await test("identity: the server stops and leaves nothing", () => server.stop());
await as.stop();

await test("identity: opaque tokens are asked for at their issuer, and a revoked one ends with its time", async () => {
    const opaque = await start_authorization_server({ opaque: true });
    const url = `http://127.0.0.1:${await free_port()}`;
    const asking_for = (seconds) => start_server({ settings: { AUTH_ISSUERS: opaque.issuer, AUTH_INTROSPECTION_URL: `${opaque.issuer}/token/introspection`, AUTH_INTROSPECTION_CLIENT: "machine", AUTH_INTROSPECTION_SECRET: opaque.secret, AUTH_INTROSPECTION_TTL: String(seconds) } });
    const lasting = await asking_for(300);
    const asking = await asking_for(1);
    try {
        const kept = await machine_token(opaque, { resource: `${lasting.url}/mcp` });
        for (let i = 0; i < 3; ++i) assert.equal((await post(`${lasting.url}/mcp`, run_python("print(1)"), kept)).status, 200);
        assert.equal(opaque.asked.filter((each) => each === "/token/introspection").length, 1);
        const token = await machine_token(opaque, { resource: `${asking.url}/mcp` });
        assert.equal((await post(`${asking.url}/mcp`, run_python("1"), token)).status, 200);
        const other = await machine_token(opaque, { resource: `${url}/mcp` });
        assert.equal((await post(`${asking.url}/mcp`, run_python("1"), other)).status, 401);
        assert.equal((await post(`${asking.url}/mcp`, run_python("1"), "nobody-made-this")).status, 401);
        await fetch(`${opaque.issuer}/token/revocation`, { method: "POST", body: new URLSearchParams({ token }), headers: { authorization: `Basic ${Buffer.from(`machine:${opaque.secret}`).toString("base64")}` } });
        await until("the revoked token is refused", async () => (await post(`${asking.url}/mcp`, run_python("1"), token)).status === 401);
    } finally {
        await lasting.stop();
        await asking.stop();
        await opaque.stop();
    }
});

await test("identity: an issuer that is down is 503 with a time to come back, and no login", async () => {
    const nobody = `http://127.0.0.1:${await free_port()}`;
    const alone = await start_server({ settings: { AUTH_ISSUERS: nobody } });
    try {
        const token = [{ alg: "RS256", typ: "at+jwt", kid: "1" }, { iss: nobody, aud: `${alone.url}/mcp`, sub: "x", exp: 9e9 }].map((each) => Buffer.from(JSON.stringify(each)).toString("base64url")).join(".") + ".AAAA";
        const reply = await post(`${alone.url}/mcp`, run_python("1"), token);
        assert.equal(reply.status, 503);
        assert.ok(Number(reply.headers.get("retry-after")) > 0);
        assert.equal((await fetch(`${alone.url}/healthz`)).status, 200);
    } finally {
        await alone.stop();
    }
});
process.exit();
