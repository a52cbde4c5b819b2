"""What the whole-system tests share: a server of their own, bare HTTP, a look at the machine, one line a test.

Standard library only. The build folder is $CMCP_BUILD, default build/release."""
import atexit
import contextlib
import ctypes
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CMCP_BUILD", PROJECT / "build/release")).resolve()
PROGRAM = BUILD / "container-mcp"
SLOWNESS = max(1, int(os.environ.get("CMCP_TEST_SLOW", "1")))   # patience is multiplied by it, for machines that are emulated
failures = []


# ---------------------------------------------------------------- reporting
def passed(name):
    print(f"ok {name}", flush=True)


def failed(name, reason):
    failures.append(name)
    print(f"not ok {name}: {' '.join(str(reason).split())[:600]}", flush=True)


@contextlib.contextmanager
def test(name):
    """One test: passes unless its body raises."""
    try:
        yield
    except Exception as error:      # whatever went wrong is the reason, and the next test runs
        failed(name, error if isinstance(error, AssertionError) and str(error) else f"{type(error).__name__}: {error}")
    else:
        passed(name)


def end(these):
    """For the end of a test that failed: nothing it started may stay."""
    for pid in these:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def finish():
    sys.exit(1 if failures else 0)


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def until(what, condition, limit=10):
    end = time.monotonic() + limit * SLOWNESS
    while not (found := condition()):
        expect(time.monotonic() < end, f"{what}: not within {limit * SLOWNESS} s")
        time.sleep(0.02)
    return found


# ---------------------------------------------------------------- the machine
def slurp(path):
    try:
        return Path(path).read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def with_marker(text):
    return [pid for pid in pids() if pid != os.getpid() and text in slurp(f"/proc/{pid}/cmdline")]


def alive(pid):
    state = [line for line in slurp(f"/proc/{pid}/status").splitlines() if line.startswith("State:")]
    return bool(state) and state[0].split()[1] not in "ZX"


def born(pid):
    """The process behind a number, which the kernel gives again: its number and its start (proc_pid_stat(5), field 22)."""
    fields = slurp(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return pid, fields[19] if fields else None


def lives(process):
    return born(process[0]) == process and alive(process[0])


def descendants(pid):
    parents = {p: int(line.split()[1]) for p in pids() for line in slurp(f"/proc/{p}/status").splitlines() if line.startswith("PPid:")}
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]


def mounts():
    return sorted(line.split()[4] for line in slurp("/proc/self/mountinfo").splitlines())


def cgroups():
    return sorted(os.path.join(folder, name) for folder, names, _ in os.walk("/sys/fs/cgroup") for name in names)


def entries(folder):
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def private_temporary_folders(*needed):
    """Where we may, a mount namespace with temporary folders of our own: what other programs leave there is not ours.
    Not when one of the `needed` paths lies in them."""
    folders = [folder for folder in ("/tmp", "/var/tmp", "/dev/shm") if os.path.isdir(folder)]
    if os.geteuid() or any(Path(path).resolve().is_relative_to(folder) for path in needed for folder in folders):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    new_mounts, private = 0x20000, 1 << 18 | 1 << 14        # CLONE_NEWNS; MS_PRIVATE | MS_REC
    if libc.unshare(new_mounts) or libc.mount(None, b"/", None, private, None):
        return False
    return all(libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, b"mode=1777") == 0 for folder in folders)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# ---------------------------------------------------------------- the server
class Server:
    """The built server on a free port, with a folder of its own, where its AppArmor profile lets it write; it goes away at the
    end of the process."""

    def __init__(self, folder=None, command=None, **settings):
        self.folder = Path(folder or tempfile.mkdtemp(prefix="container-mcp-system-"))
        if not folder:
            atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.root = self.folder / "data"
        self.log = self.folder / "server.log"
        self.port = free_port()
        self.command = command or [str(PROGRAM), "serve"]
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8", "MCP_HOST": "127.0.0.1",
                            "MCP_PORT": str(self.port), "SANDBOX_ROOT": str(self.root),
                            **{name: os.environ[name] for name in ("SANDBOX_BACKEND",) if name in os.environ}, **settings}
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        atexit.register(self.kill)
        try:
            until("the server answers", self.healthy, 30)
        except AssertionError as late:
            raise AssertionError(f"{late}; its log: {slurp(self.log)[-600:]}") from None
        return self

    def healthy(self):
        expect(self.process.poll() is None, f"the server ended with {self.process.poll()}: {slurp(self.log)[-400:]}")
        with contextlib.suppress(OSError, http.client.HTTPException):
            return Exchange(self.port, timeout=2).send("GET", "/healthz").status == 200

    def kill(self):
        """Only the server itself: what it leaves behind is what kill9 looks for."""
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()

    def stop(self):
        """As an operator would. Raises when the server or one of its children stays, or the exit code is not 0."""
        family = descendants(self.process.pid)
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(20)
        until("the server's children end", lambda: not any(map(alive, family)), 5)
        expect(code == 0, f"after SIGTERM the server ended with {code}: {slurp(self.log)[-300:]}")


# ---------------------------------------------------------------- HTTP
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Answer:
    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        self.text = response.read().decode("utf-8", "strict")

    def messages(self):
        """JSON-RPC messages of a JSON or an event-stream body."""
        if "event-stream" not in self.headers.get("Content-Type", ""):
            return [json.loads(self.text)] if self.text.strip() else []
        blocks = (event_data(block) for block in self.text.replace("\r\n", "\n").split("\n\n"))
        return [json.loads(data) for data in blocks if data]

    def reply(self):
        return next((m for m in self.messages() if "result" in m or "error" in m), {})


def event_data(block):
    return "\n".join(line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:"))


class Exchange:
    """One kept-alive connection; `session` headers are sent with each request once there are some."""

    def __init__(self, port, timeout=30):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout * SLOWNESS)
        self.session, self.next_id = {}, 0

    def begin(self, method, path, body=None, headers=None):
        """Sends a request and returns the response unread."""
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        base = JSON if body is not None else {}
        self.connection.request(method, path, body, {k: v for k, v in {**base, **self.session, **(headers or {})}.items() if v is not None})
        return self.connection.getresponse()

    def send(self, method, path, body=None, headers=None):
        return Answer(self.begin(method, path, body, headers))

    def rpc(self, method, params=None, headers=None):
        self.next_id += 1
        body = {"jsonrpc": "2.0", "id": self.next_id, "method": method, **({"params": params} if params is not None else {})}
        return self.send("POST", "/mcp", body, headers)

    def initialize(self, revision="2025-11-25"):
        params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "system-tests", "version": "1"}}
        answer = self.rpc("initialize", params)
        expect(answer.status == 200 and "result" in answer.reply(), f"initialize: {answer.status} {answer.text[:200]}")
        self.session = {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"], "MCP-Protocol-Version": revision}
        self.send("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def call(self, tool, arguments):
        """The whole result of a tool, or the JSON-RPC error under 'rpc_error'."""
        reply = self.rpc("tools/call", {"name": tool, "arguments": arguments}).reply()
        return reply.get("result") or {"rpc_error": reply.get("error")}
