// Several servers that work as one (CLUSTER_ETCD), each with a folder, ports and a certificate of its own.
import { start_etcd } from "./etcd.mjs";
import { alive, descendants, end } from "./processes.mjs";
import { until } from "./report.mjs";
import { free_ports, start_server, temporary_folder } from "./server.mjs";

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

    /// The result of `meanwhile`, during which it stands still, as a machine that has no time. It goes on whatever comes.
    async held_up(meanwhile) {
        const { pid } = this.server;
        process.kill(pid, "SIGSTOP");
        try {
            return await meanwhile();
        } finally {
            process.kill(pid, "SIGCONT");
        }
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

/// `settings` are those of all its servers, `each` has further ones by their names. With `machines` (machines.mjs) each is on the machine of its name, and the first three have etcd. `program`: {command, ready}
/// of start_server() in place of the server's. `etcd` (etcd.mjs) is the caller's, who stops it; else the cluster has one of its own.
export async function start_cluster({ settings = {}, each = {}, names = ["n1", "n2", "n3"], machines, program, etcd } = {}) {
    const shared = etcd ?? await start_etcd({ places: machines?.all.slice(0, 3) });
    const { authority } = shared;
    const nodes = [];

    function make(name, [port, member_port]) {
        const { key, certificate } = authority.sign(name);
        const machine = machines?.named(name) ?? LOOPBACK;
        return new member(name, { machine, port, member_port }, {
            SANDBOX_LINK_KEY: "the-same-on-all-servers-of-this-cluster", ...settings, ...each[name], ...shared.settings, MCP_PORT: String(port), SANDBOX_NODE: name,
            CLUSTER_LISTEN: `${machine.host}:${member_port}`, CLUSTER_CERT: certificate, CLUSTER_KEY: key, CLUSTER_CA: authority.certificate,
        }, program);
    }

    const ports = await free_ports(2 * names.length);
    nodes.push(...names.map((name, i) => make(name, ports.slice(2 * i, 2 * i + 2))));
    await Promise.all(nodes.map((node) => node.start()));
    return {
        nodes, authority, etcd: shared,
        /// A server with the name of one that may run already, with a folder of its own. It is not started, and not one of `nodes`.
        twin: async (name) => make(name, await free_ports(2)),
        async add(name) {
            const node = make(name, await free_ports(2));
            nodes.push(node);
            await node.start();
            return node;
        },
        node: (name) => nodes.find((each) => each.name === name),
        ports: () => nodes.filter(({ runs }) => runs).map(({ port }) => port),
        /// Throws where one of them leaves something behind.
        async stop() {
            await Promise.all(nodes.filter(({ runs }) => runs).map((node) => node.stop()));
            if (!etcd) await shared.stop();
        },
    };
}

/// The node that a handle names.
export const node_of = (handle) => handle.split("_")[1];
