// Machines on this one: network namespaces, each with an address of its own, between which roads can be cut. No package is needed but
// iproute2; all of it is in namespaces of the test and ends with it.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";

const INSIDE = "CMCP_IN_A_NETWORK_OF_ITS_OWN";
const ip = (...words) => execFileSync("ip", words.map(String), { stdio: ["ignore", "ignore", "pipe"] });

/// What all machines reach, and where tests and balancers are.
export const HOST = "10.99.0.1";

/// Starts `file` again in a network of its own, as root or as an ordinary user, and ends as it ends. Inside it does nothing.
export async function enter_own_network(file) {
    if (process.env[INSIDE]) return;
    const user = process.getuid() === 0 ? [] : ["--user", "--map-root-user"];
    const child = spawn("unshare", [...user, "--net", "--mount", process.execPath, file], { stdio: "inherit", env: { ...process.env, [INSIDE]: "yes" } });
    for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => child.kill(signal));
    const [code] = await once(child, "exit");
    process.exit(code ?? 1);
}

class machine {
    constructor(name, number) {
        Object.assign(this, { name, network: `10.99.${number}.0/24`, host: `10.99.${number}.1`, link: `to-${number}` });
        this.gateway = `10.99.${number}.254`;
        /// The words before a command that runs it there.
        this.inside = ["nsenter", `--net=/run/netns/${name}`, "--"];
    }

    make() {
        const { name, link, host, gateway } = this;
        ip("netns", "add", name);
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name);
        ip("addr", "add", `${gateway}/24`, "dev", link);
        ip("link", "set", link, "up");
        const own = [["link", "set", "lo", "up"], ["addr", "add", `${host}/24`, "dev", "eth0"], ["link", "set", "eth0", "up"], ["route", "add", "default", "via", gateway]];
        for (const words of own) ip("-n", name, ...words);
    }
}

class machines {
    #cut = [];

    constructor(names) {
        this.all = names.map((name, i) => new machine(name, i + 1));
    }

    named(name) { return this.all.find((each) => each.name === name); }

    /// No packet goes between the machines of `names` and the others, as when a cable between two switches breaks; this process and
    /// what listens at HOST is reached by both.
    cut_off(names) {
        const sides = [names, this.all.map(({ name }) => name).filter((name) => !names.includes(name))];
        for (const [from, to] of [sides, sides.toReversed()])
            for (const one of from) for (const other of to) this.#lose(this.named(one), this.named(other));
    }

    #lose(from, to) {
        const rule = ["iif", from.link, "to", to.network, "blackhole"];
        ip("rule", "add", ...rule);
        this.#cut.push(rule);
    }

    heal() {
        for (const rule of this.#cut.splice(0)) ip("rule", "del", ...rule);
    }
}

/// Only after enter_own_network().
export function make_machines(names) {
    ip("link", "set", "lo", "up");
    ip("addr", "add", `${HOST}/32`, "dev", "lo");
    fs.writeFileSync("/proc/sys/net/ipv4/ip_forward", "1");
    fs.mkdirSync("/run/netns", { recursive: true });
    execFileSync("mount", ["-t", "tmpfs", "none", "/run/netns"]);
    const made = new machines(names);
    for (const each of made.all) each.make();
    return made;
}

/// Those that the program which started this one has made.
export const present_machines = (names) => new machines(names);
