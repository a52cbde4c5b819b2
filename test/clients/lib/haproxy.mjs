// HAProxy before a cluster, with the configuration of container/cluster: one port gives requests in turn, another looks for the handle.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { until } from "./report.mjs";
import { free_ports, temporary_folder } from "./server.mjs";

export const haproxy = "/usr/sbin/haproxy";

/// Whether this system has a package of it, which scripts/test installs.
export const is_debian = /^ID="?debian"?$/m.test(fs.readFileSync("/etc/os-release", "utf8"));

const shown = fs.readFileSync(new URL("../../../container/cluster/haproxy.cfg", import.meta.url), "utf8");

/// The file of container/cluster without TLS, with these servers and quicker checks; once more without the lines for handles, and with all
/// requests of a client's address at one server.
function configuration(nodes, { in_turn, by_handle, sticky }) {
    const replaced = (text, pattern, by) => {
        if (!pattern.test(text)) throw new Error(`haproxy.cfg has no ${pattern}`);
        return text.replace(pattern, by);
    };
    const served_by = "http-response set-header X-Served-By %s";
    const servers = nodes.map(({ name, host, port }) => `    server ${name} ${host}:${port}\n`).join("");
    let text = replaced(shown, /(^ {4}server .*\n)+/m, servers);
    text = replaced(text, /check inter 1s fall 2/, "check inter 200ms fall 1");
    text = replaced(text, /bind .*/, `bind 127.0.0.1:${by_handle}\n    ${served_by}`);
    const more = (name, port, backend) => `\nfrontend ${name}\n    bind 127.0.0.1:${port}\n    ${served_by}\n    default_backend ${backend}\n`;
    const of_address = replaced(text.slice(text.search(/^backend /m)), /^backend servers\n {4}balance roundrobin/, "backend of_address\n    balance source");
    return `${text}${more("in_turn", in_turn, "servers")}${more("sticky", sticky, "of_address")}\n${replaced(of_address, /.*use-server.*\n/, "")}`;
}

/// {in_turn, by_handle, sticky}: addresses; each answer names its server in X-Served-By.
/// `port`: where it gives requests in turn; 0: any that is free.
export async function start_haproxy(nodes, port = 0) {
    const [in_turn, by_handle, sticky] = await free_ports(3);
    const ports = { in_turn: port || in_turn, by_handle, sticky };
    const file = path.join(temporary_folder(), "haproxy.cfg");
    fs.writeFileSync(file, configuration(nodes, ports));
    const child = spawn(haproxy, ["-db", "-f", file], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.on("data", (piece) => { said += piece; });
    const url = (port) => `http://127.0.0.1:${port}`;
    await until("HAProxy answers", async () => {
        if (child.exitCode !== null) throw new Error(`HAProxy ended: ${said.slice(-600)}`);
        return (await Promise.all(Object.values(ports).map((port) => fetch(`${url(port)}/healthz`).catch(() => ({}))))).every(({ ok }) => ok);
    });
    const stop = async () => {
        child.kill("SIGTERM");
        if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    };
    return { in_turn: url(ports.in_turn), by_handle: url(by_handle), sticky: url(sticky), stop };
}
