// Several servers that work as one (CLUSTER_MEMBERS), each with a folder, ports and a certificate of its own.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { alive, descendants, end } from "./processes.mjs";
import { until } from "./report.mjs";
import { start_server, temporary_folder } from "./server.mjs";

const openssl = (...words) => execFileSync("openssl", words, { stdio: "ignore" });
const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/// Signs certificates as container/cluster/certificates does, for two days. `sign(name)` gives the paths {key, certificate}.
export function make_authority() {
    const folder = temporary_folder();
    const [key, certificate] = ["ca-key.pem", "ca.pem"].map((file) => path.join(folder, file));
    openssl("req", "-x509", ...NEW_KEY, "-days", "2", "-subj", "/CN=members", "-keyout", key, "-out", certificate);
    function sign(name) {
        const [own_key, request, own] = ["-key.pem", ".csr", ".pem"].map((end) => path.join(folder, name + end));
        openssl("req", "-new", ...NEW_KEY, "-subj", `/CN=${name}`, "-addext", `subjectAltName=DNS:${name}`,
                "-addext", "extendedKeyUsage=serverAuth,clientAuth", "-keyout", own_key, "-out", request);
        openssl("x509", "-req", "-in", request, "-CA", certificate, "-CAkey", key, "-CAcreateserial", "-copy_extensions", "copy", "-days", "2", "-out", own);
        return { key: own_key, certificate: own };
    }
    return { certificate, sign };
}

/// Ports that differ, because they are all taken at once before they are given back.
export async function free_ports(count) {
    const probes = Array.from({ length: count }, () => net.createServer().listen(0, "127.0.0.1"));
    await Promise.all(probes.map((probe) => once(probe, "listening")));
    const ports = probes.map((probe) => probe.address().port);
    await Promise.all(probes.map((probe) => new Promise((done) => probe.close(done))));
    return ports;
}

/// One server of a cluster, which may be killed and started again with the same folder.
class member {
    constructor(name, { machine, port, member_port }, settings, program) {
        const { host } = machine;
        Object.assign(this, { name, machine, host, port, member_port, settings, program, url: `http://${host}:${port}`, folder: temporary_folder(), runs: false });
    }

    async start() {
        this.server = await start_server({ settings: this.settings, folder: this.folder, machine: this.machine, ...this.program });
        this.runs = true;
    }

    async stop(how) {
        this.runs = false;
        await this.server.stop(how);
    }

    /// As a machine that fails; its processes end with it.
    async kill() {
        this.runs = false;
        const family = descendants(this.server.pid);
        process.kill(this.server.pid, "SIGKILL");
        await this.server.ended;
        await until(`the processes of ${this.name} end`, () => !family.some(alive)).finally(() => end(family.filter(alive)));
    }
}

const LOOPBACK = { host: "127.0.0.1", inside: [] };

/// `settings` are those of all its servers. With `machines` (machines.mjs) each is on the machine of its name. `program`: {command, ready}
/// of start_server() in place of the server's.
export async function start_cluster({ settings = {}, names = ["n1", "n2", "n3"], machines, program } = {}) {
    const authority = make_authority();
    const ports = await free_ports(2 * names.length);
    const places = names.map((name, i) => ({ machine: machines?.named(name) ?? LOOPBACK, port: ports[2 * i], member_port: ports[2 * i + 1] }));
    const CLUSTER_MEMBERS = places.map(({ machine, member_port }, i) => `${names[i]}=${machine.host}:${member_port}`).join(",");
    const nodes = places.map((place, i) => {
        const { key, certificate } = authority.sign(names[i]);
        return new member(names[i], place, {
            SANDBOX_LINK_KEY: "the-same-on-all-servers-of-this-cluster", ...settings, MCP_PORT: String(place.port), SANDBOX_NODE: names[i],
            CLUSTER_MEMBERS, CLUSTER_CERT: certificate, CLUSTER_KEY: key, CLUSTER_CA: authority.certificate,
        }, program);
    });
    await Promise.all(nodes.map((node) => node.start()));
    return {
        nodes, authority,
        node: (name) => nodes.find((each) => each.name === name),
        ports: () => nodes.filter(({ runs }) => runs).map(({ port }) => port),
        /// Throws where one of them leaves something behind.
        stop: () => Promise.all(nodes.filter(({ runs }) => runs).map((node) => node.stop())),
    };
}

/// The node that a handle names.
export const node_of = (handle) => handle.split("_")[1];
