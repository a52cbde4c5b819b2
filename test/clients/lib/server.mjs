// Starts the built server on a free port with a folder of its own, and takes everything away again.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { alive, descendants, end } from "./processes.mjs";
import { until } from "./report.mjs";

export const build = path.resolve(process.env.CMCP_BUILD ?? "build/release");
export const program = path.join(build, "container-mcp");
export const SECRET = "canary-of-the-servers-environment-5b1f";

/// Ports that differ, because they are all taken at once before they are given back.
export async function free_ports(count) {
    const probes = Array.from({ length: count }, () => net.createServer().listen(0, "127.0.0.1"));
    await Promise.all(probes.map((probe) => once(probe, "listening")));
    const ports = probes.map((probe) => probe.address().port);
    await Promise.all(probes.map((probe) => new Promise((done) => probe.close(done))));
    return ports;
}

export const free_port = async () => (await free_ports(1))[0];

const folders = [];

/// A folder that is removed at the end of the process, whatever happens.
export function temporary_folder(below = os.tmpdir()) {
    folders.push(fs.mkdtempSync(path.join(below, "cmcp-clients-")));
    return folders.at(-1);
}

// Whatever we started and did not end, servers of stdio clients too.
process.on("exit", () => {
    end(descendants(process.pid));
    for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true });
});

/// The environment of a server: nothing of ours but the path, a secret that must never come out, and the settings.
export function environment(folder, settings = {}) {
    const { CMCP_STEP_RECORD } = process.env;
    return {
        ...(CMCP_STEP_RECORD ? { CMCP_STEP_RECORD } : {}), PATH: process.env.PATH, HOME: folder, LANG: "C.UTF-8", CMCP_TEST_SECRET: SECRET,
        MCP_HOST: "127.0.0.1", SANDBOX_ROOT: path.join(folder, "data"), ...settings,
    };
}

async function healthy(url) {
    try {
        return (await fetch(`${url}/healthz`)).ok;
    } catch {
        return false;
    }
}

// CMCP_SERVE names a program that is started in the server's place, such as cluster_serve.mjs.
const { CMCP_SERVE, CMCP_MACHINES } = process.env;
const machines = CMCP_MACHINES ? [`CMCP_MACHINES=${CMCP_MACHINES}`] : [];
const serve = CMCP_SERVE ? ["/usr/bin/env", `CMCP_BUILD=${build}`, ...machines, CMCP_SERVE] : [program, "serve"];

/// Settings are environment variables. `ready(url)` tells when it serves; default: GET /healthz. A server that is started again has
/// the `folder` of before. `machine`: where it runs (machines.mjs); default: here, on loopback.
export async function start_server({ settings = {}, command = serve, ready = healthy, folder = temporary_folder(), machine = { host: "127.0.0.1", inside: [] } } = {}) {
    const port = settings.MCP_PORT ? Number(settings.MCP_PORT) : await free_port();
    const log = path.join(folder, "server.log");
    const out = fs.openSync(log, "a");
    const [first, ...words] = [...machine.inside, ...command];
    const child = spawn(first, words, {
        env: environment(folder, { MCP_HOST: machine.host, MCP_PORT: String(port), ...settings }), stdio: ["ignore", out, out], cwd: folder,
    });
    fs.closeSync(out);
    const ended = new Promise((done) => {
        child.on("exit", (code, signal) => done({ code, signal }));
        child.on("error", (error) => done({ code: -1, signal: error.message }));
    });
    let gone = null;
    ended.then((how) => { gone = how; });

    const url = `${settings.TLS_CERT ? "https" : "http"}://${machine.host}:${port}`;
    const tail = () => fs.readFileSync(log, "utf8").slice(-400);
    try {
        await until("the server answers", async () => {
            if (gone) throw new Error(`the server ended (${gone.signal ?? gone.code}): ${tail()}`);
            return ready(url);
        }, 20_000);
    } catch (error) {
        child.kill("SIGKILL");
        throw error;
    }

    /// Ends it as an operator would; throws when it or one of its children stays, or the exit code is not 0. `keep`: the folder
    /// stays, for the next start.
    async function stop({ keep = false } = {}) {
        const family = descendants(child.pid);
        child.kill("SIGTERM");
        const late = setTimeout(() => child.kill("SIGKILL"), 60_000);
        const how = await ended;
        clearTimeout(late);
        await until("the server's children end", () => !family.some(alive)).finally(() => end(family.filter(alive)));
        if (!keep) fs.rmSync(folder, { recursive: true, force: true });
        if (how.code !== 0) throw new Error(`after SIGTERM the server ended with ${how.signal ?? how.code}`);
    }
    return { url, port, folder, root: path.join(folder, "data"), log, pid: child.pid, ended, stop };
}
