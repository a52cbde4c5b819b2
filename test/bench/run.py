"""Runs this server and its peers side by side and prints a table of ratios. Started by scripts/bench."""
import argparse
import contextlib
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(HERE, "..", "..", "build", "release")
LOAD = os.path.join(BUILD, "container-mcp-load")


class Peer:
    """A server that can be measured: how to start it, and what it calls its simplest tool."""

    def __init__(self, name, argv, tool, transports, env=None, path=None):
        self.name, self.argv, self.tool, self.transports = name, argv, tool, transports
        self.env, self.path = env or {}, path or {}


def peers(folder):
    node = os.path.join(HERE, "peers")
    everything = os.path.join(node, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
    echo = 'echo:{"message":"hello"}'
    product = [os.path.join(BUILD, "container-mcp"), "serve", "--port", "{port}", "--sandbox-root", folder, "--log-level", "WARNING"]
    return [
        Peer("container-mcp", product, 'system_env_var:{"var_name":"LANG"}', ["streamable", "sse", "stateless"]),
        Peer("bare Beast (ceiling)", [os.path.join(BUILD, "bench-ceiling"), "{port}"], "echo", ["streamable"]),
        Peer("TypeScript SDK", ["node", os.path.join(node, "ts_server.mjs"), "{port}"], "echo", ["streamable", "sse"]),
        Peer("server-everything", ["node", everything, "streamableHttp"], echo, ["streamable"], {"PORT": "{port}"}),
        Peer("server-everything", ["node", everything, "sse"], echo, ["sse"], {"PORT": "{port}"}),
    ]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_open(port, process):
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            probe.settimeout(0.2)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the server did not start: " + " ".join(process.args))


@contextlib.contextmanager
def running(peer):
    port = free_port()
    argv = [word.replace("{port}", str(port)) for word in peer.argv]
    env = dict(os.environ, **{key: value.replace("{port}", str(port)) for key, value in peer.env.items()})
    process = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_open(port, process)
        yield port, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def load(port, pid, transport, *options):
    argv = [LOAD, "http://127.0.0.1:%d" % port, "-t", transport, "--pid", str(pid), "--quiet", "--json", "-", *options]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True)
    if not done.stdout:
        raise RuntimeError("no report from " + " ".join(argv))
    return json.loads(done.stdout)


class Bench:
    def __init__(self, quick):
        self.seconds = "2" if quick else "8"
        self.idle = {True: 2000, False: 20000}[quick]
        self.peer_idle = {True: 200, False: 2000}[quick]
        self.rows = []

    def say(self, text):
        print("==> " + text, file=sys.stderr, flush=True)

    def add(self, name, transport, what, report, **more):
        calls = report["all"]
        row = {"server": name, "transport": transport, "what": what, "rate": report["calls_per_second"],
               "p50": calls["latency_us"].get("p50", 0), "p99": calls["latency_us"].get("p99", 0),
               "failed": calls["failed"], "cpu": report.get("server", {}).get("cpu_us_per_call", 0)}
        row.update(more)
        self.rows.append(row)
        self.say("%s %s %s: %.0f calls/s, %.1f us CPU a call" % (name, transport, what, row["rate"], row["cpu"]))

    def calls(self, peer, transport):
        for sessions in (1, 128):
            with running(peer) as (port, pid):
                warm = ["--warm-up", "1", "-d", self.seconds, "-s", str(sessions)]
                if peer.name.startswith("container") and transport != "stateless":
                    self.add(peer.name, transport, "ping c=%d" % sessions, load(port, pid, transport, "-c", "ping", *warm))
                self.add(peer.name, transport, "tools/call c=%d" % sessions, load(port, pid, transport, "-c", peer.tool, *warm))

    def idle_sessions(self, peer, transport):
        number = self.idle if peer.name.startswith("container") else self.peer_idle
        with running(peer) as (port, pid):
            load(port, pid, transport, "-c", "tools/list", "-s", "1", "-n", "100")
            report = load(port, pid, transport, "-c", "tools/list", "-s", "16", "-r", "200", "-d", self.seconds, "--idle", str(number))
            self.add(peer.name, transport, "%d idle + 200/s" % number, report,
                     kb=report["server"]["bytes_per_session"] / 1000, held=report["sessions"]["idle_at_the_end"])

    def runs(self, peer):
        for what, call in (("bash: true", 'system_run_command:{"command":"true"}'),
                           ("python: print(1)", 'system_run_python:{"code":"print(1)"}')):
            for sessions in (1, 16):
                with running(peer) as (port, pid):
                    self.add(peer.name, "streamable", "%s c=%d" % (what, sessions),
                             load(port, pid, "streamable", "-c", call, "-s", str(sessions), "--warm-up", "1", "-d", self.seconds))

    def streaming(self, peer, lines):
        call = 'system_run_command:{"command":"seq 1 %d","max_output":1000}' % lines
        for transport, revision in (("sse", "2025-06-18"), ("streamable", "2025-11-25")):     # 2024-11-05 has no text in progress
            with running(peer) as (port, pid):
                report = load(port, pid, transport, "-c", call, "--progress", "-s", "1", "-n", "3", "-d", "120", "--timeout",
                              "120", "--revision", revision)
                seconds = report["all"]["latency_us"].get("p50", 0) / 1e6
                self.add(peer.name, transport, "%d lines streamed" % lines, report, lines=lines / seconds if seconds else 0)

    def overload(self, peer):
        with running(peer) as (port, pid):
            common = ["-c", peer.tool, "-s", "256", "--health", "/healthz", "--warm-up", "1", "-d", self.seconds]
            ceiling = load(port, pid, "streamable", *common)
            self.add(peer.name, "streamable", "closed loop c=256", ceiling, health=ceiling["health_us"].get("p99", 0))
            wanted = str(3 * ceiling["calls_per_second"])
            over = load(port, pid, "streamable", *common, "-r", wanted, "--drain", "0.2")
            self.add(peer.name, "streamable", "open loop at 3 x that", over, health=over["health_us"].get("p99", 0),
                     goodput=over["calls_per_second"] / ceiling["calls_per_second"])


def machine():
    with open("/proc/cpuinfo") as info:
        model = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), platform.machine())
    with open("/proc/meminfo") as info:
        memory = int(info.readline().split()[1]) / 1024 / 1024
    return "%d x %s, %.0f GiB, Linux %s, load average %.1f at the end" % (
        os.cpu_count(), model, memory, platform.release(), os.getloadavg()[0])


def figures(row):
    notes = []
    if row["failed"]:
        notes.append("%d failed" % row["failed"])
    if "kb" in row:
        notes.append("%.2f kB a session, %d held" % (row["kb"], row["held"]))
    if "lines" in row:
        notes.append("%.0f lines/s" % row["lines"])
    if "health" in row:
        notes.append("health p99 %.1f ms" % (row["health"] / 1000))
    if "goodput" in row:
        notes.append("goodput %.0f %%" % (100 * row["goodput"]))
    return ", ".join(notes)


def ratio(row, rows):
    own = [each for each in rows if each["server"] == "container-mcp" and each["transport"] == row["transport"]
           and each["what"] == row["what"]]
    if row["server"] == "container-mcp" or not own or not row["rate"] or not own[0]["cpu"]:
        return ""
    return "%.2f x its calls/s, %.2f x less CPU" % (own[0]["rate"] / row["rate"], row["cpu"] / own[0]["cpu"])


def table(rows):
    lines = ["# Results of scripts/bench", "", machine(), "",
             "Client and server share the machine, so calls a second depend on what else runs; CPU time a call of the server "
             "does so much less. Compare within one run only.", "",
             "| what | transport | server | calls/s | CPU us a call | p50 us | p99 us | container-mcp has | notes |",
             "|---|---|---|---|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda each: (each["what"], each["transport"])):
        lines.append("| %s | %s | %s | %.0f | %.1f | %.0f | %.0f | %s | %s |" % (
            row["what"], row["transport"], row["server"], row["rate"], row["cpu"], row["p50"], row["p99"],
            ratio(row, rows), figures(row)))
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output")
    parser.add_argument("--only", action="append", choices=["calls", "idle", "runs", "streaming", "overload"])
    chosen = parser.parse_args()
    parts = chosen.only or ["calls", "idle", "runs", "streaming", "overload"]
    bench = Bench(chosen.quick)
    with tempfile.TemporaryDirectory(prefix="container-mcp-bench-") as folder:
        servers = peers(folder)
        for peer in servers:
            for transport in peer.transports:
                if "calls" in parts:
                    bench.calls(peer, transport)
                if "idle" in parts and "ceiling" not in peer.name:
                    bench.idle_sessions(peer, transport)
        if "runs" in parts:
            bench.runs(servers[0])
        if "streaming" in parts:
            bench.streaming(servers[0], 100_000 if chosen.quick else 1_000_000)
        if "overload" in parts:
            bench.overload(servers[0])
    text = table(bench.rows)
    print(text)
    if chosen.output:
        with open(chosen.output, "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
