// An authorization server for tests (npm oidc-provider, certified for OpenID Connect) and a person with a browser who logs in there.
import { once } from "node:events";
import http from "node:http";
import Provider from "oidc-provider";
import { free_port } from "./server.mjs";

export const SCOPES = ["read", "files", "run", "sandboxes", "packages", "web", "admin"].map((name) => `mcp:${name}`);
export const CALLBACK = "http://127.0.0.1:9/callback";     // nobody listens there: the browser stops before it

/// The address of a client's metadata document, which is the client's id.
export const CLIENT_DOCUMENT = "https://client.example/metadata.json";

// The library tells operators on every start what to change.
console.info = console.warn = () => {};

const native = { token_endpoint_auth_method: "none", redirect_uris: [CALLBACK], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"], application_type: "native" };
const document = { ...native, client_id: CLIENT_DOCUMENT, client_name: "by document" };

/// `clients`: further ones that are registered before.
export async function start_authorization_server({ opaque = false, ttl = 600, clients = [] } = {}) {
    const port = await free_port();
    const issuer = `http://127.0.0.1:${port}`;
    const secret = `of-this-test-${process.pid}-${port}`;
    const provider = new Provider(issuer, {
        clients: [
            { client_id: "known", ...native },
            ...clients,
            { client_id: "machine", client_secret: secret, grant_types: ["client_credentials"], redirect_uris: [], response_types: [], token_endpoint_auth_method: "client_secret_basic" },
        ],
        scopes: ["openid", "offline_access", ...SCOPES],
        features: {
            devInteractions: { enabled: true }, clientCredentials: { enabled: true }, introspection: { enabled: true }, revocation: { enabled: true },
            registration: { enabled: true }, dPoP: { enabled: true }, clientIdMetadataDocument: { enabled: true, ack: "draft-02" },
            resourceIndicators: {
                enabled: true, defaultResource: () => undefined, useGrantedResource: () => true,
                getResourceServerInfo: (_, audience) => ({
                    scope: SCOPES.join(" "), audience, accessTokenTTL: ttl, accessTokenFormat: opaque ? "opaque" : "jwt",
                    ...(opaque ? {} : { jwt: { sign: { alg: "RS256" } } }),
                }),
            },
        },
        issueRefreshToken: () => true,
        // The document of a client lies at an address that only this server knows.
        fetch: async (url, options) => (String(url) === CLIENT_DOCUMENT ? Response.json(document) : fetch(url, options)),
        pkce: { required: () => true },
    });
    const silent = () => {};
    provider.on("server_error", silent);
    const asked = [];
    const answer = provider.callback();
    const server = http.createServer((request, response) => {
        asked.push(request.url);
        answer(request, response);
    }).listen(port, "127.0.0.1");
    await once(server, "listening");
    return { issuer, secret, asked, provider, stop: () => new Promise((done) => { server.closeAllConnections(); server.close(done); }) };
}

/// Client credentials: a token of a program, without a person. `proof`: the field DPoP for the token endpoint.
export async function machine_token(as, { resource, scope = "mcp:read mcp:run", headers = {} }) {
    const reply = await fetch(`${as.issuer}/token`, {
        method: "POST", body: new URLSearchParams({ grant_type: "client_credentials", resource, scope }),
        headers: { authorization: `Basic ${Buffer.from(`machine:${as.secret}`).toString("base64")}`, ...headers },
    });
    const body = await reply.json();
    if (!reply.ok) throw new Error(`no token: ${JSON.stringify(body)}`);
    return body.access_token;
}

/// Follows the authorization server's forms until it leads back to the client; the parameters of that address.
export const log_in = async (start, person, callback = CALLBACK) => (await way_back(start, person, callback)).searchParams;

/// The same for a client that listens at an address of its own; the address that the browser would open.
export async function way_back(start, person, callback) {
    const jar = new Map();
    let url = String(start), options = {};
    for (let step = 0; step < 20; ++step) {
        const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
        const reply = await fetch(url, { ...options, redirect: "manual", headers: { ...options.headers, cookie } });
        for (const line of reply.headers.getSetCookie()) {
            const [pair] = line.split(";");
            jar.set(pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1));
        }
        const to = reply.headers.get("location");
        if (to) {
            const next = new URL(to, url);
            if (next.href.startsWith(callback)) return next;
            [url, options] = [next.href, {}];
            continue;
        }
        const page = await reply.text();
        const form = page.match(/action="([^"]+)"/);
        if (!form) throw new Error(`no form: ${reply.status} ${page.slice(0, 200)}`);
        const prompt = page.match(/name="prompt" value="([^"]+)"/)?.[1];
        url = new URL(form[1], url).href;
        options = { method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" }, body: new URLSearchParams({ prompt, login: person, password: "x" }).toString() };
    }
    throw new Error("the forms do not end");
}
