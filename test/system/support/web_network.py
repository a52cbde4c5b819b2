"""What the whole-system tests of the web tools share: a network namespace with no way out, a name server, certificates.

Standard library only; the programs that are missing are installed by root (apt-get), otherwise named."""
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from harness import Exchange, expect, slurp, until

INSIDE = "CMCP_WEB_TEST_INSIDE"
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
PUBLIC = "93.184.216.34"        # only ever an address of this namespace's loopback interface
PROGRAMS = {"dnsmasq": "dnsmasq-base", "openssl": "openssl", "ip": "iproute2"}


def require_programs(more, files=None):
    """more: program → package; files: (folder, pattern) → package."""
    def missing():
        found = [package for program, package in {**PROGRAMS, **more}.items() if not shutil.which(program, path=PATH)]
        return found + [package for (folder, pattern), package in (files or {}).items() if not list(Path(folder).glob(pattern))]

    if missing() and os.geteuid() == 0:
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", *missing()], stdout=subprocess.DEVNULL, check=False)
    if missing():
        sys.exit(f"install these packages first: {' '.join(missing())}")


def enter_namespaces():
    """Starts this program again with a network of its own (and, as an ordinary user, as its root); returns there."""
    if INSIDE in os.environ:
        return
    own_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    os.environ[INSIDE] = "1"
    os.environ["PATH"] = PATH
    os.execvpe("unshare", ["unshare", *own_root, "-n", "-m", "-p", "-f", "--mount-proc", sys.executable, *sys.argv], os.environ)


def run(*words, **more):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, **more)


def private_network(folder, *further):
    """Addresses are the loopback interface's own; names are asked of 127.0.0.1."""
    run("ip", "link", "set", "lo", "up")
    for address in (PUBLIC, *further):
        run("ip", "addr", "add", address, "dev", "lo")
    (folder / "resolv.conf").write_text("nameserver 127.0.0.1\n")
    run("mount", "--bind", folder / "resolv.conf", Path("/etc/resolv.conf").resolve())


def certificates(folder):
    """A test authority and a certificate of it for www.shop.test; an expired one; one for another name."""
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Test CA", "-days", "2", "-keyout", folder / "ca.key", "-out", folder / "ca.pem")
    for name, host in (("good", "www.shop.test"), ("other", "elsewhere.test"), ("expired", "www.shop.test")):
        run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={host}", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.csr")
        (folder / "ext").write_text(f"subjectAltName=DNS:{host}\n")
        if name == "expired":
            sign_in_the_past(folder, name)
        else:
            run("openssl", "x509", "-req", "-in", folder / f"{name}.csr", "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-CAcreateserial",
                "-extfile", folder / "ext", "-out", folder / f"{name}.pem", "-days", "2")
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=www.shop.test", "-addext", "subjectAltName=DNS:www.shop.test",
        "-days", "2", "-keyout", folder / "self.key", "-out", folder / "self.pem")


def sign_in_the_past(folder, name):
    """openssl x509 takes no dates in the past everywhere; openssl ca does."""
    (folder / "index.txt").touch()
    (folder / "serial").write_text("77\n")
    (folder / "ca.conf").write_text(f"[ca]\ndefault_ca=d\n[d]\ndir={folder}\ndatabase={folder}/index.txt\nserial={folder}/serial\nnew_certs_dir={folder}\n"
                                    f"certificate={folder}/ca.pem\nprivate_key={folder}/ca.key\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n")
    run("openssl", "ca", "-batch", "-config", folder / "ca.conf", "-startdate", "20200101000000Z", "-enddate", "20210101000000Z",
        "-in", folder / f"{name}.csr", "-extfile", folder / "ext", "-out", folder / f"{name}.pem", "-notext")


class Names:
    """dnsmasq, started anew with other answers when a test wants them."""

    def __init__(self, folder):
        self.folder, self.process = folder, None

    def answer(self, **hosts):
        if self.process:
            self.process.kill()
            self.process.wait()
        records = [f"--host-record={name.replace('_', '.')},{','.join(addresses)}" for name, addresses in hosts.items()]
        self.process = subprocess.Popen(["dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--port=53", "--listen-address=127.0.0.1",
                                         "--bind-interfaces", "--user=root", "--group=root", "--conf-file=/dev/null", "--pid-file=", "--local-ttl=0",
                                         "--log-queries", f"--log-facility={self.folder}/names.log", "--local=/test/", "--local=/localhost/",
                                         "--domain-needed", *records])
        until("the name server listens", self.listens)

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", 53)) == 0


# ---------------------------------------------------------------- what every such test asks
def called(server, tool, **arguments):
    return Exchange(server.port, timeout=120).initialize().call(tool, arguments)


def error_of(result):
    expect(result.get("isError"), f"no failure: {str(result)[:300]}")
    return result["structuredContent"]["error"]


def content_of(result):
    expect(not result.get("isError"), f"failed: {str(result)[:400]}")
    return result["structuredContent"]


@contextlib.contextmanager
def pings(server, most=0.02):
    """Pings all the time during the block; their median, in seconds, must be at most `most` beyond what the machine itself lets
    an idle process wait, twice that: ours and the server's. A handful of pings has no median worth the name (one that met a busy
    machine is all of it), so that those of a short block need only be answered within two seconds. Gives the list of their times."""
    taken, waits, stop = [], [], threading.Event()
    exchange = Exchange(server.port).initialize()

    def go():
        while not stop.is_set():
            begun = time.monotonic()
            exchange.rpc("ping")
            taken.append(time.monotonic() - begun)
            begun = time.monotonic()
            stop.wait(0.02)
            if not stop.is_set():
                waits.append(time.monotonic() - begun - 0.02)

    worker = threading.Thread(target=go)
    worker.start()
    try:
        yield taken
    finally:
        stop.set()
        worker.join()
    middle, late = (sorted(times)[(len(times) - 1) // 2] if times else 0 for times in (taken, waits))
    bound = most if len(taken) >= 10 else 2
    expect(middle <= bound + 2 * late, f"median ping {middle * 1000:.1f} ms of {len(taken)}, the machine's own delay {late * 1000:.1f} ms")
