"""What the whole-system tests share: a server of their own, bare HTTP, a look at the machine, one line a test.

Standard library only. The build folder is $CMCP_BUILD, default build/release."""
import atexit
import contextlib
import ctypes
import http.client
import json
import os
import shutil
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
PROJECT = SUPPORT.parents[2]
sys.path.append(str(PROJECT / "test"))
from support.patience import SLOWNESS, random_moment, until     # noqa: E402, F401 (for those who import this)

BUILD = Path(os.environ.get("CMCP_BUILD", PROJECT / "build/release")).resolve()
PROGRAM = BUILD / "container-mcp"
# A program that is started in the server's place, such as test/clients/lib/cluster_serve.mjs.
MACHINES = [f"CMCP_MACHINES={os.environ['CMCP_MACHINES']}"] if "CMCP_MACHINES" in os.environ else []
SERVE = ["/usr/bin/env", f"CMCP_BUILD={BUILD}", *MACHINES, os.environ["CMCP_SERVE"]] if "CMCP_SERVE" in os.environ else [str(PROGRAM), "serve"]
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


def cgroups(processes):
    """Those that launchers among `processes`, numbers, have made: a launcher writes its number and that of its PID namespace into the name."""
    names = {f"container-mcp-{pid}-{os.stat('/proc/self/ns/pid').st_ino}" for pid in processes}
    return sorted(os.path.join(folder, name) for folder, inner, _ in os.walk("/sys/fs/cgroup") for name in inner if name in names)


def entries(folder):
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


TEMPORARY = ["/tmp", "/var/tmp", "/dev/shm", "/run"]


def unshare_mounts(libc):
    """A mount namespace of our own, for an ordinary user in a user namespace where the user stays the same."""
    uid, gid = os.geteuid(), os.getegid()
    new_mounts, new_user, private = 0x20000, 0x10000000, 1 << 18 | 1 << 14      # CLONE_NEWNS, CLONE_NEWUSER; MS_PRIVATE | MS_REC
    if libc.unshare(new_mounts | (new_user if uid else 0)):
        return False
    if uid:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            Path("/proc/self", name).write_text(text, encoding="ascii")
    return libc.mount(None, b"/", None, private, None) == 0


def private_temporary_folders(*needed):
    """Mounts empty folders of our own over TEMPORARY, so that what other programs leave there is not taken for ours; the
    `needed` paths stay where they are. Call it before threads are started. Returns the folders that are our own now: none where
    the kernel does not let us have them."""
    if os.geteuid() and os.environ.get("SANDBOX_BACKEND") == "firejail":        # a program of root, who is nobody in there
        return []
    folders = [folder for folder in TEMPORARY if os.path.isdir(folder)]
    hidden = {path if path.is_dir() else path.parent for path in (Path(each).resolve() for each in needed)}
    hidden = [path for path in hidden if any(path.is_relative_to(folder) for folder in folders)]
    libc = ctypes.CDLL(None, use_errno=True)
    if not unshare_mounts(libc):
        return []
    kept = [(path, os.open(path, os.O_PATH)) for path in hidden]
    here = os.getcwd()
    for folder in folders:
        mode = f"mode={stat.S_IMODE(os.stat(folder).st_mode):o}"
        expect(libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, mode.encode()) == 0, f"no folder of our own at {folder}")
    bind = 1 << 12 | 1 << 14        # MS_BIND | MS_REC
    for path, descriptor in kept:
        path.mkdir(parents=True, exist_ok=True)
        expect(libc.mount(f"/proc/self/fd/{descriptor}".encode(), str(path).encode(), None, bind, None) == 0, f"{path} is not in its place")
        os.close(descriptor)
    os.chdir(here if os.path.isdir(here) else "/")
    return folders


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# ---------------------------------------------------------------- the server
class Server:
    """The built server on a free port, with a folder of its own, where its AppArmor profile lets it write; it goes away at the
    end of the process."""

    def __init__(self, folder=None, command=None, tls=None, **settings):
        self.tls = tls                                          # an ssl.SSLContext where the server speaks HTTPS
        self.folder = Path(folder or tempfile.mkdtemp(prefix="container-mcp-system-"))
        if not folder:
            atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.root = self.folder / "data"
        self.log = self.folder / "server.log"
        self.port = free_port()
        self.address = Path(settings["MCP_HOST"][5:]) if settings.get("MCP_HOST", "").startswith("unix:") else self.port
        self.command = command or SERVE
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8", "MCP_HOST": "127.0.0.1",
                            "MCP_PORT": str(self.port), "SANDBOX_ROOT": str(self.root),
                            **{name: os.environ[name] for name in ("SANDBOX_BACKEND", "CMCP_STEP_RECORD") if name in os.environ}, **settings}
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        atexit.register(self.kill)
        try:
            until("the server answers", self.healthy)
        except AssertionError as late:
            raise AssertionError(f"{late}; its log: {slurp(self.log)[-600:]}") from None
        return self

    def healthy(self):
        expect(self.process.poll() is None, f"the server ended with {self.process.poll()}: {slurp(self.log)[-400:]}")
        with contextlib.suppress(OSError, http.client.HTTPException):
            return Exchange(self.address, timeout=2, tls=self.tls).send("GET", "/healthz").status == 200

    def kill(self):
        """Only the server itself: what it leaves behind is what kill9 looks for."""
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()

    def stop(self):
        """As an operator would. Raises when the server or one of its children stays, or the exit code is not 0."""
        family = list(map(born, descendants(self.process.pid)))
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60 * SLOWNESS)
        until("the server's children end", lambda: not any(map(lives, family)))
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


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


MIRRORED = {"sandbox_id": "Sandbox-Id", "job_id": "Job-Id", "shell_id": "Shell-Id", "snapshot": "Snapshot-Id"}


def mirrored(tool, arguments):
    """The headers in which a call of 2026-07-28 repeats the handles among its arguments."""
    names = {**MIRRORED, **({"name": "Snapshot-Id"} if tool == "snapshot_sandbox" else {})}
    return {f"Mcp-Param-{header}": str(arguments[name]) for name, header in names.items() if arguments.get(name) is not None}


class Exchange:
    """One kept-alive connection; `session` headers are sent with each request once there are some. `place` is a port or
    the path of a UNIX socket; `tls` an ssl.SSLContext."""

    def __init__(self, address, timeout=30, tls=None):
        limit = timeout * SLOWNESS
        if not isinstance(address, int):
            self.connection = UnixConnection(address, limit)
        elif tls:
            self.connection = http.client.HTTPSConnection("127.0.0.1", address, timeout=limit, context=tls)
        else:
            self.connection = http.client.HTTPConnection("127.0.0.1", address, timeout=limit)
        self.session, self.next_id = {}, 0

    def begin(self, method, path, body=None, headers=None):
        """Sends a request and returns the response unread."""
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        base = JSON if body is not None else {}
        self.leave_ended()
        self.connection.request(method, path, body, {k: v for k, v in {**base, **self.session, **(headers or {})}.items() if v is not None})
        return self.connection.getresponse()

    def leave_ended(self):
        """The server ends a connection that was idle for long, as that of a client on a busy machine; the next request makes another."""
        wire = self.connection.sock
        if wire and select.select([wire], [], [], 0)[0]:
            self.connection.close()

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
        self.session = {**self.session, "Mcp-Session-Id": answer.headers["Mcp-Session-Id"], "MCP-Protocol-Version": revision}
        self.send("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def call(self, tool, arguments):
        """The whole result of a tool, or the JSON-RPC error under 'rpc_error'."""
        reply = self.rpc("tools/call", {"name": tool, "arguments": arguments}).reply()
        return reply.get("result") or {"rpc_error": reply.get("error")}
