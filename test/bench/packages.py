"""An installation in a sandbox beside plain pip, from the same index on loopback: see scripts/bench-packages."""
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "system/support"))
from harness import Exchange, Server, expect      # noqa: E402
from package_index import Index, start_index, wheel      # noqa: E402

ROUNDS = 5 if "--quick" in sys.argv else 15
NAMES = ["firsttiny", "secondtiny"]
PYTHON = "/usr/bin/python3"


class Tiny(Index):
    files = {f"/files/{name}-1.0-py3-none-any.whl": wheel(name, "1.0", "value = 1\n") for name in NAMES}


def plain(index):
    """What a user types, in a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        begun = time.perf_counter()
        subprocess.run([PYTHON, "-m", "pip", "install", "--user", "--quiet", "--root-user-action=ignore", "--no-cache-dir", "--disable-pip-version-check", "--index-url", index, *NAMES], check=True,
                       env={"HOME": home, "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PIP_BREAK_SYSTEM_PACKAGES": "1", "PIP_CONFIG_FILE": os.devnull})
        return time.perf_counter() - begun


def in_sandbox(client):
    sandbox = client.call("create_sandbox", {})["structuredContent"]["sandbox_id"]
    begun = time.perf_counter()
    result = client.call("install_packages_in_sandbox", {"sandbox_id": sandbox, "package_names": NAMES})["structuredContent"]
    taken = time.perf_counter() - begun
    expect(len(result["installed"]) == len(NAMES), result)
    begun = time.perf_counter()
    again = client.call("install_packages_in_sandbox", {"sandbox_id": sandbox, "package_names": NAMES})["structuredContent"]
    there = time.perf_counter() - begun
    expect(again["success"] and again["installed"] == [], again)
    client.call("delete_sandbox", {"sandbox_id": sandbox})
    return taken, there


def main():
    index = start_index(Tiny)
    address = f"http://127.0.0.1:{index.server_port}/simple"
    server = Server(PYPI_INDEX_URL=address).start()
    client = Exchange(server.port, timeout=120).initialize()
    plain(address), in_sandbox(client)      # the first of each finds nothing in the machine's memory
    pip, tool, there = [], [], []
    for _ in range(ROUNDS):
        pip.append(plain(address))
        taken, again = in_sandbox(client)
        tool.append(taken)
        there.append(again)
    server.stop()
    index.shutdown()
    for name, times in (("plain pip", pip), ("in a sandbox", tool), ("in a sandbox, when all is there", there)):
        print(f"{name:32} {statistics.median(times):6.2f} s (from {min(times):.2f} to {max(times):.2f})")
    print(f"{'in a sandbox / plain pip':32} {statistics.median(one / other for one, other in zip(tool, pip)):6.2f} (median of {ROUNDS} rounds by turns)")


main()
