"""What a measurement was made on: the machine and the programs, as lines of text."""
import contextlib
import json
import os
import platform
import re
import subprocess
from pathlib import Path


def text_of(path):
    with contextlib.suppress(OSError):
        return Path(path).read_text(errors="replace")
    return ""


def version(*command):
    """The first line that a program says of itself."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=30)
        return (done.stdout.strip().splitlines() or ["-"])[0]
    return "-"


def describe(chromium, python):
    processor = re.search(r"^model name\s*:\s*(.*)", text_of("/proc/cpuinfo"), re.M)
    memory = int(re.search(r"MemTotal:\s+(\d+)", text_of("/proc/meminfo")).group(1)) / (1 << 20)
    system = re.search(r'^PRETTY_NAME="(.*)"', text_of("/etc/os-release"), re.M)
    package = Path(__file__).parent / "node_modules/playwright-core/package.json"
    playwright = json.loads(text_of(package) or '{"version": "-"}')["version"]
    soup = version(python, "-c", "import bs4, lxml.etree as e; print('BeautifulSoup', bs4.__version__, 'lxml', '.'.join(map(str, e.LXML_VERSION[:3])))")
    return (f"machine: {os.cpu_count()} x {processor.group(1) if processor else platform.machine()}, {memory:.0f} GiB, Linux {platform.release()}, "
            f"{system.group(1) if system else '?'}, load {os.getloadavg()[0]:.1f}\n"
            f"programs: {version(chromium, '--version') if chromium else 'no Chromium'}; playwright-core {playwright}, node {version('node', '--version')}; "
            f"{version(python, '--version')}, {soup}; {' '.join(version('curl', '--version').split()[:2])}")
