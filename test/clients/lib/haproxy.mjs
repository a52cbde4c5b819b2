// HAProxy before a cluster, with the configuration of container/cluster: one port gives requests in turn, another looks for the handle.
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

const shown = fs.readFileSync(new URL("../../../container/cluster/haproxy.cfg", import.meta.url), "utf8");

/// The file of container/cluster without TLS, with these servers and quicker checks, and once more without the lines for handles.
function configuration(nodes, in_turn, by_handle) {
    const replaced = (text, pattern, by) => {
        if (!pattern.test(text)) throw new Error(`haproxy.cfg has no ${pattern}`);
        return text.replace(pattern, by);
    };
    const served_by = "http-response set-header X-Served-By %s";
    const servers = nodes.map(({ name, host, port }) => `    server ${name} ${host}:${port}\n`).join("");
    let text = replaced(shown, /(^ {4}server .*\n)+/m, servers);
    text = replaced(text, /check inter 1s fall 2/, "check inter 200ms fall 1");
    text = replaced(text, /bind .*/, `bind 127.0.0.1:${by_handle}\n    ${served_by}`);
    return `${text}\nfrontend in_turn\n    bind 127.0.0.1:${in_turn}\n    ${served_by}\n    default_backend servers\n`;
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
