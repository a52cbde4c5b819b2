// HAProxy before a cluster, with the configuration that docs/cluster.md shows: one port gives requests in turn, another looks for the handle.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { until } from "./report.mjs";
import { temporary_folder } from "./server.mjs";
import { free_ports } from "./cluster.mjs";

export const haproxy = "/usr/sbin/haproxy";

/// Whether this system has a package of it, which scripts/test installs.
export const is_debian = /^ID="?debian"?$/m.test(fs.readFileSync("/etc/os-release", "utf8"));

const CHECK = "option httpchk\n    http-check send meth GET uri /healthz ver HTTP/1.1 hdr Host 127.0.0.1";

function configuration(nodes, in_turn, by_handle) {
    const server = ({ name, host, port }) => `    server ${name} ${host}:${port} check inter 200ms fall 1 rise 1`;
    const backend = (node) => `backend node_${node.name}\n    ${CHECK}\n${server(node)}`;
    const names = nodes.map(({ name }) => name).join(" ");
    return `
global
    maxconn 1000
defaults
    mode http
    timeout connect 2s
    timeout client 300s
    timeout server 300s
    timeout tunnel 1h
    http-reuse always
    retries 2
    option redispatch
frontend in_turn
    bind 127.0.0.1:${in_turn}
    http-response set-header X-Served-By %s
    default_backend all
frontend by_handle
    bind 127.0.0.1:${by_handle}
    http-request set-var(txn.handle) req.hdr(Mcp-Name)
    http-request set-var(txn.handle) req.hdr(Mcp-Param-Job-Id) if { req.hdr(Mcp-Param-Job-Id) -m found }
    http-request set-var(txn.handle) req.hdr(Mcp-Param-Shell-Id) if { req.hdr(Mcp-Param-Shell-Id) -m found }
    http-request set-var(txn.handle) req.hdr(Mcp-Param-Sandbox-Id) if { req.hdr(Mcp-Param-Sandbox-Id) -m found }
    http-request set-var(txn.handle) req.hdr(Mcp-Session-Id) if { req.hdr(Mcp-Session-Id) -m found }
    http-request set-var(txn.handle) url_param(sessionId) if { url_param(sessionId) -m found }
    http-request set-var(txn.handle) url_param(sandbox_id) if { url_param(sandbox_id) -m found }
    http-request set-var(txn.node) var(txn.handle),field(2,_) if { var(txn.handle) -m reg ^[a-z]+_[a-z0-9-]+_[0-9a-f]{32}$ }
    acl member var(txn.node) -m str ${names}
    http-response set-header X-Served-By %s
    use_backend node_%[var(txn.node)] if member
    default_backend all
backend all
    balance roundrobin
    ${CHECK}
${nodes.map(server).join("\n")}
${nodes.map(backend).join("\n")}
`;
}

/// {in_turn, by_handle}: addresses; each answer names its server in X-Served-By.
/// `port`: where it gives requests in turn; 0: any that is free.
export async function start_haproxy(nodes, port = 0) {
    const ports = await free_ports(2);
    const in_turn = port || ports[0], by_handle = ports[1];
    const file = path.join(temporary_folder(), "haproxy.cfg");
    fs.writeFileSync(file, configuration(nodes, in_turn, by_handle));
    const child = spawn(haproxy, ["-db", "-f", file], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.on("data", (piece) => { said += piece; });
    const url = (port) => `http://127.0.0.1:${port}`;
    await until("HAProxy answers", async () => {
        if (child.exitCode !== null) throw new Error(`HAProxy ended: ${said.slice(-600)}`);
        return (await Promise.all([in_turn, by_handle].map((port) => fetch(`${url(port)}/healthz`).catch(() => ({}))))).every(({ ok }) => ok);
    });
    const stop = async () => {
        child.kill("SIGTERM");
        if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    };
    return { in_turn: url(in_turn), by_handle: url(by_handle), stop };
}
