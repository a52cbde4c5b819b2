// A Ceph of one monitor, one OSD that keeps all in memory, and one gateway (radosgw) that speaks S3, on loopback. Its requests here
// are signed by Smithy's library (of Amazon's own clients).
import { Sha256 } from "@aws-crypto/sha256-js";
import { SignatureV4 } from "@smithy/signature-v4";
import { execFile, spawn } from "node:child_process";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { free_ports } from "./server.mjs";
import { alive, with_marker } from "./processes.mjs";
import { until } from "./report.mjs";
import { temporary_folder } from "./server.mjs";

const BUCKET = "sandboxes", REGION = "us-east-1", KEY_ID = "key-of-the-tests";
const GATEWAY = "client.radosgw.s3";
const A_MINUTE = 60_000;

/// Debian's packages and their programs that are used here.
const PROGRAMS = {
    radosgw: ["radosgw"], "ceph-mon": ["ceph-mon"], "ceph-osd": ["ceph-osd"],
    "ceph-common": ["ceph", "ceph-authtool", "monmaptool", "radosgw-admin"],
};

const is_in_path = (program) => process.env.PATH.split(":").some((folder) => fs.existsSync(path.join(folder, program)));

/// Names of packages that this machine lacks.
export const missing_packages = () => Object.keys(PROGRAMS).filter((name) => !PROGRAMS[name].every(is_in_path));

const configuration = (folder, fsid, monitor, gateway) => `
[global]
fsid = ${fsid}
mon host = [v2:127.0.0.1:${monitor}]
public addr = 127.0.0.1
ms bind ipv6 = false
keyring = ${folder}/keyring
run dir = ${folder}
admin socket =
log file = ${folder}/$name.log
mon data = ${folder}/mon
osd data = ${folder}/osd
osd objectstore = memstore
memstore device bytes = 4294967296
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon data avail crit = 1
paxos propose interval = 0.05
paxos min wait = 0.01
[${GATEWAY}]
rgw frontends = beast endpoint=127.0.0.1:${gateway}
rgw thread pool size = 32
`;

/// Name and rights of whom Ceph lets in.
const RIGHTS = {
    "mon.": { mon: "allow *" }, "client.admin": { mon: "allow *", osd: "allow *" },
    "osd.0": { mon: "allow profile osd", osd: "allow *" }, [GATEWAY]: { mon: "allow rw", osd: "allow rwx" },
};

/// As `ceph-authtool --gen-print-key` makes one: type 1 (AES), seconds, nanoseconds, length, bytes.
function new_key() {
    const head = Buffer.alloc(12);
    head.writeUInt16LE(1, 0);
    head.writeUInt32LE(Math.floor(Date.now() / 1000), 2);
    head.writeUInt16LE(16, 10);
    return Buffer.concat([head, randomBytes(16)]).toString("base64");
}

/// The output of a program that must succeed within a minute.
async function run(program, ...words) {
    return (await promisify(execFile)(program, words, { timeout: A_MINUTE, killSignal: "SIGKILL" })).stdout;
}

const element = (name, text) => text.match(new RegExp(`<${name}>(.*?)</${name}>`, "s"))?.[1];

class ceph {
    #folder = temporary_folder();
    #fsid = randomUUID();
    #children = [];
    #secret = randomUUID();

    async start() {
        const [monitor, gateway] = await free_ports(2);
        this.port = gateway;
        fs.writeFileSync(this.#file("ceph.conf"), configuration(this.#folder, this.#fsid, monitor, gateway));
        this.#make_keyring();
        await this.#start_monitor(monitor);
        await this.#start_osd();
        await this.#start_gateway();
        const { status, text } = await this.request("PUT", `/${BUCKET}`);
        if (status !== 200) throw new Error(`the bucket was not made: ${status} ${text}`);
    }

    get url() { return `http://127.0.0.1:${this.port}/${BUCKET}`; }

    /// Settings of a server that keeps its snapshots here.
    settings(prefix = "") {
        return { SNAPSHOT_STORE: this.url + (prefix && `/${prefix}`), SNAPSHOT_STORE_REGION: REGION, SNAPSHOT_STORE_KEY_ID: KEY_ID, SNAPSHOT_STORE_SECRET: this.#secret };
    }

    /// The answer to a signed request; `target` is below the host, with neither query nor anything to be encoded.
    async request(method, target, { query = {}, headers = {}, body = "" } = {}) {
        const signer = new SignatureV4({
            service: "s3", region: REGION, sha256: Sha256, uriEscapePath: false, applyChecksum: false,
            credentials: { accessKeyId: KEY_ID, secretAccessKey: this.#secret },
        });
        const host = `127.0.0.1:${this.port}`;
        const digest = createHash("sha256").update(body).digest("hex");
        const to_sign = { method, protocol: "http:", hostname: "127.0.0.1", path: target, query, headers: { host, "x-amz-content-sha256": digest, ...headers } };
        const { headers: { host: _, ...signed } } = await signer.sign(to_sign);
        const answer = await fetch(`http://${host}${target}?${new URLSearchParams(query)}`, { method, headers: signed, ...(body && { body }) });
        const bytes = Buffer.from(await answer.arrayBuffer());
        return { status: answer.status, bytes, text: String(bytes) };
    }

    /// What is below the prefix: key, size and etag.
    async objects(prefix = "") {
        const all = [];
        let more;
        do {
            const { status, text } = await this.request("GET", `/${BUCKET}`, { query: { "list-type": "2", prefix, ...(more && { "continuation-token": more }) } });
            if (status !== 200) throw new Error(`no list: ${status} ${text}`);
            for (const [entry] of text.matchAll(/<Contents>.*?<\/Contents>/gs))
                all.push({ key: element("Key", entry), size: Number(element("Size", entry)), etag: element("ETag", entry) });
            more = element("NextContinuationToken", text);
        } while (more);
        return all;
    }

    async keys(prefix = "") { return (await this.objects(prefix)).map(({ key }) => key); }

    async get(key) {
        const { status, bytes, text } = await this.request("GET", `/${BUCKET}/${key}`);
        if (status !== 200) throw new Error(`${key}: ${status} ${text}`);
        return bytes;
    }

    remove(key) { return this.request("DELETE", `/${BUCKET}/${key}`); }

    put(key, body, headers = {}) { return this.request("PUT", `/${BUCKET}/${key}`, { headers, body }); }

    /// Throws where a process or a file stays. Nothing in it is worth a graceful end.
    async stop() {
        for (const child of this.#children.reverse()) {
            if (child.exitCode !== null || child.signalCode !== null) continue;
            const ended = once(child, "exit");
            child.kill("SIGKILL");
            await ended;
        }
        fs.rmSync(this.#folder, { recursive: true, force: true });
        await until("all processes of Ceph end", () => !with_marker(this.#folder).some(alive));
    }

    #file(name) { return path.join(this.#folder, name); }

    #run(program, ...words) { return run(program, "-c", this.#file("ceph.conf"), ...words); }

    /// Until `ready`, and no longer than the program runs. It ends with this process, however that ends.
    async #start(program, words, what, ready) {
        const child = spawn("setpriv", ["--pdeathsig", "KILL", program, "-c", this.#file("ceph.conf"), ...words], { stdio: ["ignore", "ignore", "pipe"] });
        let said = "";
        child.stderr.on("data", (piece) => { said = (said + piece).slice(-600); });
        child.on("error", (problem) => { said = problem.message; });
        this.#children.push(child);
        await until(what, () => {
            if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${program} ended: ${said}`);
            return ready();
        }, A_MINUTE);
    }

    #make_keyring() {
        const sections = Object.entries(RIGHTS).map(([name, rights]) => {
            const caps = Object.entries(rights).map(([of, right]) => `caps ${of} = "${right}"\n`);
            return `[${name}]\nkey = ${new_key()}\n${caps.join("")}`;
        });
        fs.writeFileSync(this.#file("keyring"), sections.join(""), { mode: 0o600 });
    }

    async #start_monitor(port) {
        fs.mkdirSync(this.#file("mon"));
        await run("monmaptool", "--create", "--fsid", this.#fsid, "--addv", "a", `[v2:127.0.0.1:${port}]`, this.#file("monmap"));
        await this.#run("ceph-mon", "-i", "a", "--mkfs", "--monmap", this.#file("monmap"), "--keyring", this.#file("keyring"));
        await this.#start("ceph-mon", ["-i", "a", "-f"], "Ceph's monitor answers", () => this.#run("ceph", "quorum_status"));
    }

    async #start_osd() {
        fs.mkdirSync(this.#file("osd"));
        await this.#run("ceph", "osd", "create");
        await this.#run("ceph", "osd", "crush", "add", "osd.0", "1", "root=default", "host=one");
        await this.#run("ceph-osd", "-i", "0", "--mkfs");
        await this.#start("ceph-osd", ["-i", "0", "-f"], "Ceph's OSD is up", async () => /\b1 up/.test(await this.#run("ceph", "osd", "stat")));
    }

    async #start_gateway() {
        await this.#run("radosgw-admin", "-n", GATEWAY, "user", "create", "--uid", "tests", "--display-name", "tests", "--access-key", KEY_ID, "--secret-key", this.#secret);
        const answers = () => fetch(this.url).then(() => true, () => false);
        await this.#start("radosgw", ["-n", GATEWAY, "-f"], "Ceph's gateway answers", answers);
    }
}

export async function start_ceph() {
    const missing = missing_packages();
    if (missing.length) throw new Error(`Ceph is not here: install ${missing.join(" ")}`);
    const storage = new ceph();
    try {
        await storage.start();
    } catch (problem) {
        await storage.stop();
        throw problem;
    }
    return storage;
}
