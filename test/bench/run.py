"""Runs this server and its peers side by side and prints a table of ratios. Started by scripts/bench."""
import argparse
import contextlib
import json
import os
import platform
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.patience import measured_span, until

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(HERE, "..", "..", "build", "release")
LOAD = os.path.join(BUILD, "container-mcp-load")


PARTS = ["calls", "nginx", "idle", "runs", "streaming", "overload"]


class Peer:
    """A server that can be measured: how to start it, and what it calls its simplest tool."""

    def __init__(self, name, argv, tool, transports, env=None, port=None, own=False):
        self.name, self.argv, self.tool, self.transports = name, argv, tool, transports
        self.env, self.port, self.own = env or {}, port, own


def product(name, build, folder):
    argv = [os.path.join(build, "container-mcp"), "serve", "--port", "{port}", "--sandbox-root", folder, "--log-level", "WARNING"]
    return Peer(name, argv, 'system_env_var:{"var_name":"LANG"}', ["streamable", "sse", "stateless"], own=True)


def peers():
    node = os.path.join(HERE, "peers")
    everything = os.path.join(node, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
    echo = 'echo:{"message":"hello"}'
    return [
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
    def opens():
        with socket.socket() as probe:
            probe.settimeout(0.2)
            return process.poll() is not None or probe.connect_ex(("127.0.0.1", port)) == 0

    until("the server starts: " + " ".join(process.args), opens)
    if process.poll() is not None:
        raise RuntimeError("the server did not start: " + " ".join(process.args))


@contextlib.contextmanager
def running(peer):
    port = peer.port or free_port()
    argv = [word.replace("{port}", str(port)) for word in peer.argv]
    env = dict(os.environ, **{key: value.replace("{port}", str(port)) for key, value in peer.env.items()})
    process = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_open(port, process)
        wait_until_idle(process.pid)
        yield port, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def cpu_seconds(pid):
    """Of the process and its children that still live: an nginx works in one."""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        children = [int(each) for each in file.read().split()]
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + sum(cpu_seconds(each) for each in children)


def wait_until_idle(pid):
    """A start may go on in the background: this server tries the languages that sandboxes offer."""
    used, idle, end = 0, 0, time.monotonic() + 60
    while idle < 3 and time.monotonic() < end:
        before, used = used, cpu_seconds(pid)
        idle = idle + 1 if used - before < 0.02 else 0
        measured_span(0.3)


# One request, the same bytes each time: what any HTTP server can be asked.
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
    "name": "system_env_var", "arguments": {"var_name": "LANG"},
    "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}}
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
           "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "system_env_var"}


def write_wrk_script(folder):
    script = os.path.join(folder, "call.lua")
    with open(script, "w") as file:
        file.write('wrk.method = "POST"\nwrk.body = [[%s]]\n' % json.dumps(CALL))
        file.writelines('wrk.headers["%s"] = "%s"\n' % each for each in HEADERS.items())
    return script


def write_nginx_configuration(folder, answer):
    path = os.path.join(folder, "nginx.conf")
    with open(path, "w") as file:
        file.write("daemon off; worker_processes 1; pid %s/nginx.pid; error_log stderr error;\n"
                   "events { worker_connections 4096; }\n"
                   "http { access_log off; keepalive_requests 100000000; client_body_temp_path %s/body; proxy_temp_path %s/proxy;\n"
                   "fastcgi_temp_path %s/fastcgi; uwsgi_temp_path %s/uwsgi; scgi_temp_path %s/scgi; server { listen 127.0.0.1:PORT;\n"
                   "location / { default_type application/json; return 200 '%s'; } } }\n" % (*[folder] * 6, answer))
    return path


def load(port, pid, transport, *options):
    argv = [LOAD, "http://127.0.0.1:%d" % port, "-t", transport, "--pid", str(pid), "--quiet", "--json", "-", *options]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True)
    if not done.stdout:
        raise RuntimeError("no report from " + " ".join(argv))
    return json.loads(done.stdout)


class Bench:
    def __init__(self, quick):
        self.seconds = "2" if quick else "8"
        descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.idle = min({True: 2000, False: 20000}[quick], descriptors - 500)   # one each, at both ends
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
                if peer.own and transport != "stateless":
                    self.add(peer.name, transport, "ping c=%d" % sessions, load(port, pid, transport, "-c", "ping", *warm))
                self.add(peer.name, transport, "tools/call c=%d" % sessions, load(port, pid, transport, "-c", peer.tool, *warm))

    def idle_sessions(self, peer, transport):
        number = self.idle if peer.own else self.peer_idle
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
        size = sum(len(str(number)) + 1 for number in range(1, lines + 1))
        for transport in ("sse", "streamable"):
            with running(peer) as (port, pid):
                report = load(port, pid, transport, "-c", call, "--progress", "-s", "1", "-n", "3", "-d", "120", "--timeout", "120")
                calls = report["all"]
                if not calls["succeeded"] or calls["output_bytes"] != calls["succeeded"] * size:
                    raise RuntimeError("%s: %d calls brought %d bytes of output" % (transport, calls["succeeded"], calls["output_bytes"]))
                seconds = report["all"]["latency_us"].get("p50", 0) / 1e6
                self.add(peer.name, transport, "%d lines streamed" % lines, report, lines=lines / seconds if seconds else 0)

    def beside_nginx(self, products, folder):
        """The ceiling that everybody knows: nginx with a fixed answer of the same length, asked the same by the same client."""
        script = write_wrk_script(folder)
        answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"padding": "x" * 330}})
        configuration = write_nginx_configuration(folder, answer)
        for connections in (1, 128):
            for peer in products:
                self.asked_by_wrk(peer, "/mcp", script, connections)
            port = free_port()
            with open(configuration) as file:
                text = file.read()
            made = configuration + ".%d" % connections
            with open(made, "w") as file:
                file.write(text.replace("PORT", str(port)))
            nginx = Peer("nginx return 200", ["nginx", "-p", folder, "-c", made], "", [], port=port)
            self.asked_by_wrk(nginx, "/", script, connections)

    def asked_by_wrk(self, peer, path, script, connections):
        with running(peer) as (port, pid):
            url = "http://127.0.0.1:%d%s" % (port, path)
            argv = ["wrk", "-t", "1", "-c", str(connections), "--latency", "-s", script]
            subprocess.run(argv + ["-d", "1", url], stdout=subprocess.DEVNULL, check=True)
            before = cpu_seconds(pid)
            report = subprocess.run(argv + ["-d", self.seconds, url], stdout=subprocess.PIPE, text=True, check=True).stdout
            used = cpu_seconds(pid) - before
        if "Non-2xx" in report:
            raise RuntimeError("%s refused what wrk asks:\n%s" % (peer.name, report))
        calls = int(re.search(r"(\d+) requests in", report).group(1))
        self.rows.append({"server": peer.name, "transport": "by wrk", "what": "one tools/call c=%d" % connections,
                          "rate": float(re.search(r"Requests/sec:\s+([\d.]+)", report).group(1)), "failed": 0,
                          "p50": microseconds(report, "50%"), "p99": microseconds(report, "99%"), "cpu": used * 1e6 / calls})
        self.say("%s by wrk, %d connections: %.0f calls/s" % (peer.name, connections, self.rows[-1]["rate"]))

    def overload(self, peer):
        with running(peer) as (port, pid):
            common = ["-c", peer.tool, "-s", "256", "--health", "/healthz", "--warm-up", "1", "-d", self.seconds]
            ceiling = load(port, pid, "streamable", *common)
            self.add(peer.name, "streamable", "closed loop c=256", ceiling, health=ceiling["health_us"].get("p99", 0))
            wanted = str(3 * ceiling["calls_per_second"])
            over = load(port, pid, "streamable", *common, "-r", wanted, "--drain", "0.2")
            self.add(peer.name, "streamable", "open loop at 3 x that", over, health=over["health_us"].get("p99", 0),
                     goodput=over["calls_per_second"] / ceiling["calls_per_second"])


def microseconds(report, percentile):
    number, unit = re.search(re.escape(percentile) + r"\s+([\d.]+)(us|ms|s)\b", report).groups()
    return float(number) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]


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
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--beside")
    parser.add_argument("--no-peers", action="store_true")
    chosen = parser.parse_args()
    parts = chosen.only or PARTS
    bench = Bench(chosen.quick)
    with tempfile.TemporaryDirectory(prefix="container-mcp-bench-") as folder:
        products = [product("container-mcp", BUILD, os.path.join(folder, "root"))]
        if chosen.beside:
            products.append(product("container-mcp beside", chosen.beside, os.path.join(folder, "beside")))
        servers = products if chosen.no_peers else products + peers()
        for transport, peer in [(transport, peer) for transport in products[0].transports for peer in servers]:
            if transport not in peer.transports:
                continue
            if "calls" in parts:
                bench.calls(peer, transport)
            if "idle" in parts and "ceiling" not in peer.name:
                bench.idle_sessions(peer, transport)
        if "nginx" in parts:
            bench.beside_nginx(products, folder)
        for peer in products:
            if "runs" in parts:
                bench.runs(peer)
            if "streaming" in parts:
                bench.streaming(peer, 100_000 if chosen.quick else 1_000_000)
            if "overload" in parts:
                bench.overload(peer)
    text = table(bench.rows)
    print(text)
    if chosen.output:
        with open(chosen.output, "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
