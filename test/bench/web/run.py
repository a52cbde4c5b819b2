"""The web tools beside what people use without them, in one run on one machine. Started by scripts/bench-web.

All kinds of a table take turns, so that they meet the same noise: compare the ratios, not the milliseconds of different days."""
import argparse
import concurrent.futures
import contextlib
import json
import math
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "system/support"))
import pages
from machine import describe
from harness import Exchange, Server, descendants, slurp, until
from support.patience import measured_span

CHROMIUMS = ["/usr/lib/chromium/chromium", "/usr/lib/chromium-browser/chromium-browser", "/opt/google/chrome/chrome"]    # not the shell script before it
CHROMIUM = next((path for path in CHROMIUMS if os.access(path, os.X_OK)), None)
PYTHON = "/usr/bin/python3"
TOGETHER = 50
PATIENCE = 300


# ---------------------------------------------------------------- the servers
def started(**settings):
    values = {"WEB_ALLOWED_PRIVATE": f"127.0.0.1:{PORT}", "WEB_BROWSER_PATH": CHROMIUM or "", "LOG_LEVEL": "WARNING", **settings}
    return Server(**{name: str(value) for name, value in values.items()}).start()


def client(server):
    return Exchange(server.port, timeout=PATIENCE).initialize()


def called(exchange, tool, arguments):
    """Over a connection of its own: one that is kept would be closed as idle while the others are measured."""
    exchange.connection.close()
    result = exchange.call(tool, arguments)
    found = result.get("structuredContent", {})
    if not found.get("success"):
        raise SystemExit(f"bench-web: a call failed: {str(result)[:600]}")
    return found


def scrape(exchange):
    found = called(exchange, "web_scrape", {"url": ARTICLE, "selector": pages.SELECTOR})
    return " ".join(found["content"].split())


def browse(exchange, url):
    return called(exchange, "web_browse", {"url": url, "format": "html"})


# ---------------------------------------------------------------- what they are compared with
def curl_and_soup():
    with subprocess.Popen(["curl", "-sS", "--fail", ARTICLE], stdout=subprocess.PIPE) as curl:
        done = subprocess.run([PYTHON, HERE / "soup.py", pages.SELECTOR], stdin=curl.stdout, stdout=subprocess.PIPE, text=True, check=True)
    return " ".join(done.stdout.split())


class Playwright:
    """Node with playwright-core loaded, which takes orders."""

    def __init__(self):
        self.environment = {**os.environ, "BENCH_CHROMIUM": CHROMIUM}
        self.command = ["node", str(HERE / "playwright.mjs")]
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment)

    def show(self, how, url, wait):
        self.process.stdin.write(json.dumps({"do": how, "url": url, "wait": wait}) + "\n")
        self.process.stdin.flush()
        if not json.loads(self.process.stdout.readline() or "{}").get("length"):
            raise SystemExit("bench-web: playwright-core showed nothing")

    def once(self, url, wait):
        """Returns at the answer; ends the browser after it, as the others do."""
        process = subprocess.Popen([*self.command, "--once", url, wait], stdout=subprocess.PIPE, text=True, env=self.environment)
        if not json.loads(process.stdout.readline() or "{}").get("length"):
            raise SystemExit("bench-web: playwright-core showed nothing")
        return process

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


# ---------------------------------------------------------------- times
def milliseconds(work):
    begun = time.perf_counter()
    kept = work()
    return (time.perf_counter() - begun) * 1000, kept


def in_turn(kinds, rounds):
    """kinds: name → (work, what to do after it, without the clock). A first round is not counted."""
    times = {name: [] for name in kinds}
    for number in range(rounds + 1):
        for name, (work, after) in kinds.items():
            taken, kept = milliseconds(work)
            if number:
                times[name].append(taken)
            if after:
                after(kept)
    return times


def show(title, times, references):
    """references: (heading, name of the row that is 1)."""
    count = len(next(iter(times.values())))
    print(f"\n{title}, {count} rounds\n{'':46}{'median':>9}{'p90':>9}   ms" + "".join(f"{heading:>20}" for heading, _ in references))
    for name, all_ in times.items():
        all_.sort()
        middle = statistics.median(all_)
        ratios = "".join(f"{middle / statistics.median(times[base]):20.2f}" for _, base in references)
        print(f"{name:46}{middle:9.1f}{all_[max(0, math.ceil(len(all_) * 0.9) - 1)]:9.1f}     {ratios}", flush=True)


# ---------------------------------------------------------------- the parts
def measure_scrapes(rounds):
    """The first call of a fresh server is cold in all: no interpreter waits, no connection is open."""
    def first_call():
        server = started(PYTHON_ZYGOTE="off")
        exchange = client(server)
        return server, exchange

    servers = {"kept": started(), "off": started(PYTHON_ZYGOTE="off")}
    exchanges = {name: client(server) for name, server in servers.items()}
    wanted = curl_and_soup()
    for name, exchange in exchanges.items():
        if scrape(exchange) != wanted:
            raise SystemExit(f"bench-web: web_scrape ({name}) and BeautifulSoup do not read the same")
    until("an interpreter waits", lambda: prepared(exchanges["kept"]), 60)
    fresh = []

    def cold():
        scrape(fresh[-1][1])

    def renew(_=None):
        while fresh:
            fresh.pop()[0].stop()
        fresh.append(first_call())

    renew()
    base = "curl | python3 with BeautifulSoup, each anew"
    times = in_turn({base: (curl_and_soup, None),
                     "web_scrape, cold: first call of a server": (cold, renew),
                     "web_scrape, no interpreter kept (zygote off)": (lambda: scrape(exchanges["off"]), None),
                     "web_scrape, warm": (lambda: scrape(exchanges["kept"]), None)}, rounds)
    show("Scrape of a page of 100 KiB by a selector", times, [("ratio to curl", base)])
    for server in [*servers.values(), *(one[0] for one in fresh)]:
        server.stop()


def prepared(exchange):
    return called(exchange, "system_run_python", {"code": "pass"}).get("prepared")


def browser_processes(server):
    """Chromium's own, without the process that started it for the server."""
    return [pid for pid in descendants(server.process.pid) if slurp(f"/proc/{pid}/cmdline").startswith(CHROMIUM)]


def measure_browsing(rounds):
    warm, cold = started(), started(WEB_BROWSER_IDLE_TIMEOUT=0)
    warm_client, cold_client = client(warm), client(cold)
    browse(warm_client, ARTICLE)      # its browser starts
    driver = Playwright()

    def ended(_):
        until("the browser of the cold server ends", lambda: not browser_processes(cold), 60)

    try:
        for title, url, wait in (("a page of 100 KiB without scripts", ARTICLE, "load"), ("a page that a script makes, until it is quiet", SCRIPTED, "networkidle")):
            base = "playwright-core, warm: new context"
            cold_base = "playwright-core, cold: browser started"
            times = in_turn({"node + playwright-core, all anew": (lambda: driver.once(url, wait), lambda process: process.wait(60)),
                             cold_base: (lambda: driver.show("cold", url, wait), None),
                             "web_browse, cold: browser started": (lambda: browse(cold_client, url), ended),
                             base: (lambda: driver.show("warm", url, wait), None),
                             "web_browse, warm": (lambda: browse(warm_client, url), None)}, rounds)
            show(f"Browse of {title}", times, [("to playwright cold", cold_base), ("to playwright warm", base)])
    finally:
        driver.close()
    warm.stop()
    cold.stop()


def ping_until(port, stop, out):
    """In a process of its own, so that no thread of the others delays it."""
    exchange, taken = Exchange(port, timeout=PATIENCE).initialize(), []
    while not stop.is_set():
        taken.append(milliseconds(lambda: exchange.rpc("ping"))[0])
        stop.wait(0.005)
    out.send(taken)


@contextlib.contextmanager
def pings_of(server):
    """A list that holds, after the block, the times of pings during it in milliseconds."""
    context = multiprocessing.get_context("fork")
    stop, (receiver, sender), found = context.Event(), context.Pipe(duplex=False), []
    process = context.Process(target=ping_until, args=(server.port, stop, sender), daemon=True)
    process.start()
    yield found
    stop.set()
    found += sorted(receiver.recv())
    process.join()


def measure_together(rounds):
    server = started()
    exchanges = [client(server) for _ in range(TOGETHER)]
    print(f"\n{TOGETHER} scrapes of the page at once, each of a session of its own, {rounds} rounds")
    with pings_of(server) as quiet:
        measured_span(1)
    totals, peers = [], []
    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool, pings_of(server) as busy:
        for _ in range(rounds):
            totals.append(milliseconds(lambda: list(pool.map(scrape, exchanges)))[0])
    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        for _ in range(rounds):
            peers.append(milliseconds(lambda: list(pool.map(lambda _: curl_and_soup(), range(TOGETHER))))[0])
    mine, theirs = statistics.median(totals), statistics.median(peers)
    print(f"  web_scrape                          {mine:8.0f} ms for all, {TOGETHER * 1000 / mine:6.1f} pages/s")
    print(f"  curl | python3 with BeautifulSoup   {theirs:8.0f} ms for all, {TOGETHER * 1000 / theirs:6.1f} pages/s, ratio {mine / theirs:.2f}")
    for name, all_ in (("nothing else happens", quiet), ("they run", busy)):
        at = {part: all_[min(len(all_) - 1, int(len(all_) * part))] for part in (0.5, 0.99)}
        print(f"  ping while {name:22} median {at[0.5]:.2f} ms, p99 {at[0.99]:.2f} ms, longest {all_[-1]:.2f} ms of {len(all_)}")
    server.stop()


def pss(processes):
    """Proportional set size, MiB (proc_pid_smaps(5))."""
    sizes = [re.search(r"^Pss:\s+(\d+)", slurp(f"/proc/{pid}/smaps_rollup"), re.M) for pid in processes]
    return sum(int(size.group(1)) for size in sizes if size) / 1024


def memory_at_rest(server):
    """After two looks half a second apart that agree: the last page's process takes a moment to end."""
    before = -1.0
    end = time.monotonic() + 15
    while time.monotonic() < end:
        now = pss(browser_processes(server))
        if abs(now - before) < 1:
            break
        before = now
        measured_span(0.5)
    return before, len(browser_processes(server))


def measure_memory(most):
    server = started()
    exchange = client(server)
    marks = [mark for mark in (1, 20, 50, 100, 150, 200) if mark <= most] + [most] * (most not in (50, 100, 150, 200))
    print(f"\nMemory of the browser (PSS of all its processes) after so many pages, each with 8 MiB of its own\n{'pages':>8}{'MiB':>9}{'processes':>12}{'to 20 pages':>13}")
    found = {}
    for number in range(1, most + 1):
        browse(exchange, f"{SITE}/page/{number}")
        if number in marks:
            found[number], processes = memory_at_rest(server)
            ratio = f"{found[number] / found[20]:13.2f}" if 20 in found else ""
            print(f"{number:8}{found[number]:9.1f}{processes:12}{ratio}", flush=True)
    server.stop()


def main():
    global PORT, SITE, ARTICLE, SCRIPTED
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", choices=["scrape", "browse", "together", "memory"])
    chosen = parser.parse_args()
    wanted = set(chosen.only or ["scrape", "browse", "together", "memory"])
    web, PORT = pages.serve()
    SITE = f"http://127.0.0.1:{PORT}"
    ARTICLE, SCRIPTED = SITE + "/article", SITE + "/scripted"
    print(describe(CHROMIUM, PYTHON), flush=True)
    if "scrape" in wanted:
        measure_scrapes(5 if chosen.quick else 30)
    if "together" in wanted:
        measure_together(1 if chosen.quick else 5)
    if not CHROMIUM and wanted & {"browse", "memory"}:
        print("\nChromium is not installed: web_browse was not measured (apt-get install chromium)")
    elif CHROMIUM:
        if "browse" in wanted:
            measure_browsing(3 if chosen.quick else 15)
        if "memory" in wanted:
            measure_memory(60 if chosen.quick else 200)
    web.terminate()


if __name__ == "__main__":
    main()
