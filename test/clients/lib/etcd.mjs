// etcd, which the servers of a cluster share (CLUSTER_ETCD): members on this machine that may be killed, held up and started again, with
// certificates of the cluster's authority.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { make_authority } from "./authority.mjs";
import { until } from "./report.mjs";
import { free_ports, temporary_folder } from "./server.mjs";

const ENVIRONMENT = { PATH: process.env.PATH, ETCDCTL_API: "3", ETCD_UNSUPPORTED_ARCH: process.arch };

function value_of(text) {
    try {
        return JSON.parse(text);
    } catch {
        return text;
    }
}

// etcd writes each change through to its disk, and loses its leader where another test keeps that busy.
const MEMORY = fs.existsSync("/dev/shm") ? "/dev/shm" : undefined;

class etcd_member {
    constructor(name, { host, inside }, scheme, [port, peer_port]) {
        Object.assign(this, { name, inside, folder: temporary_folder(), data: temporary_folder(MEMORY) });
        Object.assign(this, { url: `${scheme}://${host}:${port}`, peer_url: `https://${host}:${peer_port}` });
    }

    /// `all` as --initial-cluster names them. One that has data goes on with it.
    start(all, { key, certificate }, authority) {
        const for_clients = { "cert-file": certificate, "key-file": key, "trusted-ca-file": authority, "client-cert-auth": true };
        const log = fs.openSync(`${this.folder}/log`, "a");
        const words = {
            "name": this.name, "data-dir": this.data, "listen-client-urls": this.url, "advertise-client-urls": this.url,
            "listen-peer-urls": this.peer_url, "initial-advertise-peer-urls": this.peer_url, "initial-cluster": all,
            ...(this.url.startsWith("https") && for_clients),
            "peer-cert-file": certificate, "peer-key-file": key, "peer-trusted-ca-file": authority, "peer-client-cert-auth": true,
            "auto-compaction-retention": "1h", "logger": "zap", "log-outputs": "stderr", "log-level": "warn",
        };
        const [first, ...more] = [...this.inside, "etcd", ...Object.entries(words).map(([name, value]) => `--${name}=${value}`)];
        this.process = spawn(first, more, { env: ENVIRONMENT, stdio: ["ignore", log, log] });
        fs.closeSync(log);
        this.ended = once(this.process, "exit");
    }

    is_up() { return this.process?.exitCode === null && this.process.signalCode === null; }
    log() { return fs.readFileSync(`${this.folder}/log`, "utf8"); }
}

/// All its members, or those of `which` (names), are started, killed and held up.
class etcd {
    #pair;
    #login = [];

    constructor(authority, scheme, places, ports) {
        const members = places.map((place, i) => new etcd_member(`e${i + 1}`, place, scheme, ports.slice(2 * i, 2 * i + 2)));
        Object.assign(this, { authority, members });
        this.url = this.members.map(({ url }) => url).join(",");
        this.settings = { CLUSTER_ETCD: this.url };
        this.#pair = authority.sign("localhost", ...new Set(places.map(({ host }) => `IP:${host}`)));
    }

    #of(which) { return which ? this.members.filter(({ name }) => which.includes(name)) : this.members; }

    /// Returns when these, and those that run beside them, are healthy together.
    async start(which) {
        const all = this.members.map(({ name, peer_url }) => `${name}=${peer_url}`).join(",");
        for (const member of this.#of(which)) member.start(all, this.#pair, this.authority.certificate);
        await until("etcd is healthy", async () => {
            const down = this.#of(which).find((member) => !member.is_up());
            if (down) throw new Error(`etcd ended: ${down.log().slice(-600)}`);
            return this.#is_healthy();
        });
    }

    async #is_healthy() { return (await this.#ask(["endpoint", "health"])).code === 0; }

    /// Returns when those that are left serve again, where they are most of all.
    async kill(which) {
        const killed = this.#of(which).filter((member) => member.is_up());
        for (const { process } of killed) process.kill("SIGKILL");
        await Promise.all(killed.map(({ ended }) => ended));
        if (this.members.filter((member) => member.is_up()).length > this.members.length / 2) await until("the rest of etcd serves", () => this.#is_healthy());
    }

    hold_up(which) { for (const member of this.#of(which)) member.process.kill("SIGSTOP"); }
    go_on(which) { for (const member of this.#of(which)) member.process.kill("SIGCONT"); }

    /// The name of its leader.
    async leader() {
        const all = JSON.parse(await this.command("endpoint", "status", "--write-out=json"));
        const { Endpoint } = all.find(({ Status }) => Status.leader === Status.header.member_id);
        return this.members.find(({ url }) => url === Endpoint).name;
    }

    /// From now on whoever asks must log in as root with this password, beside his certificate.
    async require_password(password) {
        await this.command("user", "add", `root:${password}`);
        await this.command("user", "grant-role", "root", "root");
        await this.command("auth", "enable");
        this.#login = [`--user=root:${password}`];
        Object.assign(this.settings, { CLUSTER_ETCD_USER: "root", CLUSTER_ETCD_PASSWORD: password });
    }

    async stop() {
        await this.kill();
        for (const { folder, data } of this.members)
            for (const each of [folder, data]) fs.rmSync(each, { recursive: true, force: true });
    }

    /// What etcdctl prints; throws where it fails.
    async command(...words) {
        const { code, text, trouble } = await this.#ask(words);
        if (code !== 0) throw new Error(`etcdctl ${words.join(" ")}: ${trouble.slice(-600)}`);
        return text;
    }

    /// The keys that begin with `prefix`, each with its JSON as a value, or as a text what is none.
    async get(prefix) {
        const { kvs = [] } = JSON.parse(await this.command("get", "--prefix", prefix, "--write-out=json"));
        const text = (coded = "") => Buffer.from(coded, "base64").toString();
        return Object.fromEntries(kvs.map(({ key, value }) => [text(key), value_of(text(value))]));
    }

    async put(key, text) { await this.command("put", "--", key, text); }

    async #ask(words) {
        const up = this.members.filter((member) => member.is_up()).map(({ url }) => url).join(",");
        const options = [`--endpoints=${up}`, `--cacert=${this.authority.certificate}`, `--cert=${this.#pair.certificate}`, `--key=${this.#pair.key}`, ...this.#login];
        const client = spawn("etcdctl", [...options, ...words], { env: ENVIRONMENT, stdio: ["ignore", "pipe", "pipe"] });
        let text = "", trouble = "";
        client.stdout.on("data", (more) => { text += more; });
        client.stderr.on("data", (more) => { trouble += more; });
        const [code] = await once(client, "close");
        return { code, text, trouble };
    }
}

const LOOPBACK = { host: "127.0.0.1", inside: [] };

/// `members` of them on loopback, or one on each of `places` (machines.mjs). `plain`: without TLS but between its members. The cluster has
/// the same authority. One that is not `started` has start().
export async function start_etcd({ members = 1, places = Array(members).fill(LOOPBACK), authority = make_authority(), plain = false, started = true } = {}) {
    const all = new etcd(authority, plain ? "http" : "https", places, await free_ports(2 * places.length));
    if (started) await all.start();
    return all;
}
