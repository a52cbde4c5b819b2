// A small S3 in memory, on loopback, that may fail on command. It verifies the signature of each request by Smithy's library (of
// Amazon's own clients), so that ours is not held against itself.
//   node test/clients/lib/object_storage.mjs [--port N] [--bucket NAME] [--page-size N]      prints a line when it listens
import { Sha256 } from "@aws-crypto/sha256-js";
import { SignatureV4 } from "@smithy/signature-v4";
import { createHash } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import { pathToFileURL } from "node:url";

const FIFTEEN_MINUTES = 15 * 60_000;

/// An answer that is an error of S3's.
class refusal extends Error {
    constructor(status, code, message) {
        super(message);
        Object.assign(this, { status, code });
    }
}

const digest = (algorithm, bytes) => createHash(algorithm).update(bytes).digest("hex");
const escaped = (text) => text.replace(/[&<>"\r]/g, (character) => `&#${character.charCodeAt(0)};`);
const element = (name, content) => `<${name}>${content}</${name}>`;
const document = (content) => `<?xml version="1.0" encoding="UTF-8"?>\n${content}`;

const error_document = ({ code, message }, resource) =>
    document(element("Error", element("Code", code) + element("Message", escaped(message)) + element("Resource", escaped(resource)) + element("RequestId", "1")));

/// "20130524T000000Z" as a Date; nothing where it is no time.
function time_of(text = "") {
    const time = new Date(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
    return Number.isNaN(time.getTime()) ? undefined : time;
}

/// The parts of the field Authorization; nothing where it is no signature of version 4.
function signature_parts(field = "") {
    const match = field.match(/^AWS4-HMAC-SHA256 Credential=([^/,]+)\/(\d{8})\/([^/,]+)\/s3\/aws4_request,\s*SignedHeaders=([^,]+),\s*Signature=([0-9a-f]{64})$/);
    if (!match) return undefined;
    const [, key_id, day, region, names, signature] = match;
    return { key_id, day, region, names: names.split(";"), signature };
}

function query_of(search) {
    const query = {};
    for (const [name, value] of new URLSearchParams(search)) query[name] = name in query ? [query[name], value].flat() : value;
    return query;
}

async function body_of(request) {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    return Buffer.concat(pieces);
}

class object_storage {
    objects = new Map();    ///< by key: { bytes, etag, modified }
    requests = [];          ///< "PUT /bucket/key", those that were refused or dropped, too
    clockSkew = 0;          ///< by how many milliseconds its clock is ahead
    #failures = [];

    constructor(options) { Object.assign(this, options); }

    get url() { return `http://${this.host}:${this.port}/${this.bucket}`; }

    /// Settings of a server that keeps its snapshots here.
    settings(prefix = "") {
        return { SNAPSHOT_STORE: this.url + (prefix && `/${prefix}`), SNAPSHOT_STORE_REGION: this.region, SNAPSHOT_STORE_KEY_ID: this.key_id, SNAPSHOT_STORE_SECRET: this.secret };
    }

    /// The next `count` requests are answered with `status`; 0: their connections end without an answer. `carried_out`: the requests
    /// take effect all the same.
    failNext(count, status, { carried_out = false } = {}) {
        for (let each = 0; each < count; ++each) this.#failures.push({ status, carried_out });
    }

    /// Listens; after stop() at the same port again, with the same objects.
    async start() {
        this.server = http.createServer((request, response) => void this.#serve(request, response));
        this.server.listen(this.port, this.host);
        await once(this.server, "listening");
        this.port = this.server.address().port;
    }

    async stop() {
        const closed = once(this.server, "close");
        this.server.close();
        this.server.closeAllConnections();
        await closed;
    }

    async #serve(request, response) {
        this.requests.push(`${request.method} ${request.url}`);
        const [path, search = ""] = request.url.split("?");
        try {
            const body = await body_of(request);
            const failure = this.#failures.shift();
            const answer = !failure || failure.carried_out ? await this.#answer(request, path, query_of(search), body) : undefined;
            if (failure?.status === 0) return void request.socket.destroy();
            if (failure) throw new refusal(failure.status, failure.status === 500 ? "InternalError" : "SlowDown", "This failure was ordered.");
            this.#send(request, response, answer);
        } catch (problem) {
            const shown = problem instanceof refusal ? problem : new refusal(500, "InternalError", String(problem.stack));
            this.#send(request, response, { status: shown.status, type: "application/xml", body: error_document(shown, path) });
        }
    }

    #send(request, response, { status = 200, type, etag, body = "" }) {
        if (response.destroyed) return;
        const fields = { "x-amz-request-id": "1", "content-length": Buffer.byteLength(body), ...(type && { "content-type": type }), ...(etag && { etag }) };
        if (status === 204) delete fields["content-length"];
        response.writeHead(status, fields).end(request.method === "HEAD" || status === 204 ? undefined : body);
    }

    async #answer(request, path, query, body) {
        await this.#verify(request, path, query, body);
        const [, bucket, ...rest] = path.split("/");
        const key = decodeURIComponent(rest.join("/"));
        if (bucket !== this.bucket) throw new refusal(404, "NoSuchBucket", "The specified bucket does not exist");
        if (!key) {
            if (request.method === "GET" && query["list-type"] === "2") return this.#list(query);
            throw new refusal(501, "NotImplemented", "Of a bucket there is only its list here.");
        }
        const handler = { PUT: () => this.#put(key, request.headers, body), GET: () => this.#get(key), HEAD: () => this.#get(key), DELETE: () => this.#remove(key) }[request.method];
        if (!handler) throw new refusal(405, "MethodNotAllowed", "The specified method is not allowed against this resource.");
        return handler();
    }

    async #verify(request, path, query, body) {
        const { headers } = request;
        const parts = signature_parts(headers.authorization);
        if (!parts) throw new refusal(403, "AccessDenied", "Anonymous access is forbidden for this operation");
        if (parts.key_id !== this.key_id) throw new refusal(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.");
        if (parts.region !== this.region)
            throw new refusal(400, "AuthorizationHeaderMalformed", `The authorization header is malformed; the region '${parts.region}' is wrong; expecting '${this.region}'`);
        const time = time_of(headers["x-amz-date"]);
        if (!time || !headers["x-amz-date"].startsWith(parts.day)) throw new refusal(403, "AccessDenied", "AWS authentication requires a valid Date or x-amz-date header");
        if (Math.abs(Date.now() + this.clockSkew - time) > FIFTEEN_MINUTES)
            throw new refusal(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.");
        const unsigned = Object.keys(headers).filter((name) => (name === "host" || name.startsWith("x-amz-")) && !parts.names.includes(name));
        if (unsigned.length) throw new refusal(403, "AccessDenied", `There were headers present in the request which were not signed: ${unsigned}`);
        if ((await this.#signature(request, parts, path, query, time)) !== parts.signature)
            throw new refusal(403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided. Check your key and signing method.");
        if (headers["x-amz-content-sha256"] !== digest("sha256", body))
            throw new refusal(400, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.");
    }

    async #signature(request, { names }, path, query, signingDate) {
        const headers = Object.fromEntries(names.map((name) => [name, request.headers[name] ?? ""]));
        const signer = new SignatureV4({
            service: "s3", region: this.region, sha256: Sha256, uriEscapePath: false, applyChecksum: false,
            credentials: { accessKeyId: this.key_id, secretAccessKey: this.secret },
        });
        const signed = await signer.sign({ method: request.method, protocol: "http:", hostname: "127.0.0.1", path, query, headers }, { signingDate, signableHeaders: new Set(names) });
        return signature_parts(signed.headers.authorization)?.signature;
    }

    #put(key, headers, bytes) {
        const present = this.objects.get(key), etag = `"${digest("md5", bytes)}"`;
        const [none, match] = [headers["if-none-match"], headers["if-match"]];
        if (none !== undefined && none !== "*") throw new refusal(501, "NotImplemented", "A header you provided implies functionality that is not implemented");
        if (match !== undefined && !present) throw new refusal(404, "NoSuchKey", "The specified key does not exist.");
        if ((none && present) || (match !== undefined && match !== present.etag))
            throw new refusal(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold");
        this.objects.set(key, { bytes, etag, modified: new Date() });
        return { etag };
    }

    #get(key) {
        const present = this.objects.get(key);
        if (!present) throw new refusal(404, "NoSuchKey", "The specified key does not exist.");
        return { type: "application/octet-stream", etag: present.etag, body: present.bytes };
    }

    #remove(key) {
        this.objects.delete(key);
        return { status: 204 };
    }

    #list({ prefix = "", "continuation-token": token, "max-keys": most = "1000" }) {
        const size = Math.min(Number(most), this.page_size);
        const after = token === undefined ? undefined : Buffer.from(token, "base64");
        const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix)).map((key) => Buffer.from(key)).sort(Buffer.compare)
            .filter((key) => after === undefined || Buffer.compare(key, after) > 0);
        const page = keys.slice(0, size);
        const contents = page.map((key) => this.#entry(String(key))).join("");
        const goes_on = keys.length > page.length;
        const next = goes_on ? element("NextContinuationToken", page.at(-1).toString("base64")) : "";
        const head = element("Name", this.bucket) + element("Prefix", escaped(prefix)) + element("KeyCount", page.length) + element("MaxKeys", size) + element("IsTruncated", goes_on);
        return { type: "application/xml", body: document(`<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${head}${next}${contents}</ListBucketResult>`) };
    }

    #entry(key) {
        const { bytes, etag, modified } = this.objects.get(key);
        return element("Contents", element("Key", escaped(key)) + element("LastModified", modified.toISOString()) + element("ETag", escaped(etag)) + element("Size", bytes.length) + element("StorageClass", "STANDARD"));
    }
}

/// `page_size`: most keys of a page of a list.
export async function start_object_storage({ host = "127.0.0.1", port = 0, bucket = "snapshots", region = "us-east-1", page_size = 1000, key_id = "test-key", secret = `of-this-test-${process.pid}` } = {}) {
    const storage = new object_storage({ host, port, bucket, region, page_size, key_id, secret });
    await storage.start();
    return storage;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
    const { parseArgs } = await import("node:util");
    const text = { type: "string" };
    const { values } = parseArgs({ options: { port: text, bucket: text, region: text, "page-size": text, "key-id": text, secret: text } });
    const { port = "0", "page-size": page_size = "1000", "key-id": key_id, ...rest } = values;
    const storage = await start_object_storage({ port: Number(port), page_size: Number(page_size), ...(key_id && { key_id }), ...rest });
    console.log(`listening: ${Object.entries(storage.settings()).map((pair) => pair.join("=")).join(" ")}`);
}
