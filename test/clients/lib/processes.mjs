// What runs on this machine, read from /proc.
import fs from "node:fs";

function read(path) {
    try {
        return fs.readFileSync(path, "latin1");
    } catch {
        return "";
    }
}

const pids = () => fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number);

/// Processes with `text` in their command line, this one excepted.
export function with_marker(text) {
    return pids().filter((pid) => pid !== process.pid && read(`/proc/${pid}/cmdline`).includes(text));
}

function parent(pid) {
    return Number(read(`/proc/${pid}/status`).match(/^PPid:\s+(\d+)/m)?.[1] ?? 0);
}

export function descendants(pid) {
    const parents = new Map(pids().map((each) => [each, parent(each)]));
    const found = [pid];
    for (const each of found) found.push(...[...parents].filter(([, up]) => up === each).map(([child]) => child));
    return found.slice(1);
}

/// A process that has ended but was not waited for by its parent does not count as alive.
export function alive(pid) {
    return /^State:\s+[^ZX]/m.test(read(`/proc/${pid}/status`));
}

/// For the end of a test that failed: nothing it started may stay.
export function end(pids) {
    for (const pid of pids) {
        try {
            process.kill(pid, "SIGKILL");
        } catch {
            // gone already
        }
    }
}
