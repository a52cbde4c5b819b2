"""Downloads and connections from within a sandbox: see scripts/bench-network."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "system/support"))
from harness import Exchange, Server, expect, slurp, until      # noqa: E402
from web_network import PUBLIC, Names, enter_namespaces, private_network      # noqa: E402

QUICK = "--quick" in sys.argv
MIB = 128 if QUICK else 1024
CONNECTIONS = 200 if QUICK else 3000
ROUNDS = 3

CONNECT = """
import http.client, sys, threading, time
host, port, count, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
def go(times):
    for _ in range(count // threads):
        begun = time.perf_counter()
        wire = http.client.HTTPConnection(host, port)
        wire.request("GET", "/tiny", headers={"Host": "www.shop.test"})
        assert wire.getresponse().read() == b"tiny"
        wire.close()
        times.append(time.perf_counter() - begun)
all = [[] for _ in range(threads)]
begun = time.perf_counter()
workers = [threading.Thread(target=go, args=[each]) for each in all]
for each in workers: each.start()
for each in workers: each.join()
taken = time.perf_counter() - begun
times = sorted(sum(all, []))
print(len(times) / taken, times[len(times) // 2] * 1000)
"""


def start_servers(folder):
    (folder / "big").touch()
    with open(folder / "big", "r+b") as file:
        file.truncate(MIB << 20)
    (folder / "tiny").write_text("tiny")
    (folder / "nginx.conf").write_text(f"""
    daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.error; user root; worker_processes 1;
    events {{ worker_connections 1024; }}
    http {{ access_log off; sendfile on; client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
        uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5; server {{ listen {PUBLIC}:80 backlog=1024; root {folder}; }} }}""")
    (folder / "haproxy.cfg").write_text(f"""
defaults
  mode http
  timeout connect 10s
  timeout client 60s
  timeout server 60s
frontend f
  bind 127.0.0.1:8081
  default_backend b
backend b
  server s {PUBLIC}:80
""")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return [subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-p", folder], **quiet), subprocess.Popen(["haproxy", "-f", folder / "haproxy.cfg"], **quiet)]


def memory_of(server):
    return int(next(line.split()[1] for line in slurp(f"/proc/{server.process.pid}/status").splitlines() if line.startswith("VmRSS"))) // 1024


def best(of):
    return max(of() for _ in range(ROUNDS))


def main():
    enter_namespaces()
    with tempfile.TemporaryDirectory(prefix="container-mcp-bench-") as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        private_network(folder)
        names = Names(folder)
        names.answer(www_shop_test=[PUBLIC])
        processes = start_servers(folder)
        server = Server(SANDBOX_NETWORK="www.shop.test", SANDBOX_NETWORK_MAX_MB="100000", SANDBOX_PROCESS_LIMIT="200").start()
        try:
            measure(server, folder)
        finally:
            server.stop()
            for each in [*processes, names.process]:
                each.kill()
                each.wait()


def measure(server, folder):
    exchange = Exchange(server.port, timeout=600)

    def call(tool, **arguments):
        answer = exchange.send("POST", f"/mcp/tools/{tool}", arguments)
        expect(answer.status == 200, answer.text)
        return json.loads(answer.text)

    box = call("create_sandbox")["sandbox_id"]

    def inside(command):
        result = call("execute_terminal_command", sandbox_id=box, command=command, timeout=110)
        expect(result["exit_code"] == 0, result)
        return result["stdout"]

    def outside(command):
        return subprocess.run(["bash", "-c", command], check=True, capture_output=True, text=True, cwd=folder).stdout

    def speed(run, url, more=""):
        return best(lambda: float(run(f"curl -fsS {more} -H 'Host: www.shop.test' -o /dev/null -w '%{{speed_download}}' {url}/big")) / (1 << 20))

    (folder / "connect.py").write_text(CONNECT)
    inside("cat > connect.py <<'end'\n" + CONNECT + "end\n")
    until("HAProxy listens", lambda: outside("curl -s http://127.0.0.1:8081/tiny || true") == "tiny")
    before = memory_of(server)
    straight = "unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY; "
    figures = {"no proxy": speed(outside, f"http://{PUBLIC}"), "HAProxy": speed(outside, "http://127.0.0.1:8081"),
               "sandbox, by the door": speed(lambda c: inside(straight + c), "http://www.shop.test"),
               "sandbox, by its proxy": speed(inside, "http://www.shop.test")}
    for name, value in figures.items():
        print(f"download of {MIB} MiB, {name}: {value:.0f} MiB/s, {value / figures['HAProxy'] * 100:.0f} % of HAProxy")
    for threads in (1, 8):
        rows = {"no proxy": outside(f"python3 connect.py {PUBLIC} 80 {CONNECTIONS} {threads}"), "HAProxy": outside(f"python3 connect.py 127.0.0.1 8081 {CONNECTIONS} {threads}"),
                "sandbox, by the door": inside(f"python3 connect.py www.shop.test 80 {CONNECTIONS} {threads}")}
        direct = float(rows["no proxy"].split()[1])
        for name, row in rows.items():
            each_second, median = map(float, row.split())
            print(f"connections with one request, {threads} at once, {name}: {each_second:.0f} each second, median {median:.2f} ms, {median - direct:+.2f} ms")
    print(f"the server's memory: {before} MiB before, {memory_of(server)} MiB after")


main()
