// The directory of a cluster: Valkey, or Debian 12's Redis, on loopback, which may be killed, held up and started again.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { free_ports } from "./cluster.mjs";
import { until } from "./report.mjs";
import { temporary_folder } from "./server.mjs";

const program = ["valkey", "redis"].map((name) => `/usr/bin/${name}`).find((name) => fs.existsSync(`${name}-server`));
const PASSWORD = "of-this-directory";

class directory {
    /// `tls`: {key, certificate, authority}, files of a certificate for localhost; without, it speaks plainly.
    constructor(port, folder, tls, host = "127.0.0.1") {
        Object.assign(this, { port, folder, tls, host, url: tls ? `rediss://:${PASSWORD}@localhost:${port}` : `redis://:${PASSWORD}@${host}:${port}` });
    }

    async start() {
        const port = this.tls ? ["--port", 0, "--tls-port", this.port, ...this.server_files()] : ["--port", this.port];
        const options = ["--bind", this.host, ...port, "--save", "", "--dir", this.folder, "--requirepass", PASSWORD];
        this.process = spawn(`${program}-server`, options.map(String), { stdio: "ignore" });
        this.ended = once(this.process, "exit");
        await until("the directory answers", async () => (await this.command("PING").catch(() => "")) === "PONG");
    }

    server_files() { return ["--tls-cert-file", this.tls.certificate, "--tls-key-file", this.tls.key, "--tls-ca-cert-file", this.tls.authority]; }
    client_files() { return ["--tls", "--cert", this.tls.certificate, "--key", this.tls.key, "--cacert", this.tls.authority]; }

    /// What the server's own client prints.
    async command(...words) {
        const client = spawn(`${program}-cli`, ["-h", this.tls ? "localhost" : this.host, "-p", this.port, ...(this.tls ? this.client_files() : []), "-a", PASSWORD, "--no-auth-warning", ...words].map(String), { stdio: ["ignore", "pipe", "ignore"] });
        let text = "";
        client.stdout.on("data", (more) => { text += more; });
        await once(client, "close");
        return text.trim();
    }

    hold_up() { process.kill(this.process.pid, "SIGSTOP"); }
    go_on() { process.kill(this.process.pid, "SIGCONT"); }

    async kill() {
        this.process.kill("SIGKILL");
        await this.ended;
    }
}

export async function start_directory({ host } = {}) {
    const [port] = await free_ports(1);
    const own = new directory(port, temporary_folder(), undefined, host);
    await own.start();
    return own;
}

/// One that is not started yet.
export const directory_with_tls = (port, tls) => new directory(port, temporary_folder(), tls);
