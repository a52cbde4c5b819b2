"""Calls of tools by code in a sandbox: see scripts/bench-tools."""
import http.server
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "system/support"))
from harness import Exchange, Server, expect      # noqa: E402

QUICK = "--quick" in sys.argv
CALLS = 200 if QUICK else 1000      # that a run may make
PAGES = 50
CLIENTS = Path(__file__).resolve().parents[1] / "clients"
WORDS = "the quick brown fox jumps over a lazy dog while seven wizards brew strange potions in an old tower".split()
LOOP = """
import time, tools
call = tools.list_sandboxes
call()
times = []
for _ in range({calls}):
    begun = time.perf_counter()
    call()
    times.append(time.perf_counter() - begun)
times.sort()
print(times[len(times) // 2] * 1000)
"""
CODE = """from tools import web_scrape

pages = [web_scrape(url=f"{place}/{{n}}") for n in range({pages})]
prices = {{page.title: float(page.content.split("Price: ")[1].split()[0]) for page in pages}}
cheapest = min(prices, key=prices.get)
print(cheapest, prices[cheapest])"""


class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        number = int(self.path.strip("/"))
        text = " ".join(WORDS[(number * 7 + n * 3) % len(WORDS)] for n in range(400))
        body = f"<html><head><title>Product {number}</title></head><body><article><h1>Product {number}</h1><p>{text}</p><p>Price: {number * 37 % 91 + 5}.50 euro</p></article></body></html>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def tokens(texts):
    program = "import {encode} from 'gpt-tokenizer/encoding/o200k_base'; let all = ''; for await (const piece of process.stdin) all += piece; console.log(JSON.parse(all).map((one) => encode(one).length).reduce((a, b) => a + b, 0))"
    return int(subprocess.run(["node", "--input-type=module", "-e", program], input=json.dumps(texts), capture_output=True, text=True, cwd=CLIENTS, check=True).stdout)


def median_outside(exchange):
    times = []
    for _ in range(CALLS):
        begun = time.perf_counter()
        exchange.send("POST", "/mcp/tools/list_sandboxes", {})
        times.append(time.perf_counter() - begun)
    return sorted(times)[CALLS // 2] * 1000


def text_of(answer):
    return "\n".join(block["text"] for block in answer["content"] if block["type"] == "text")


def main():
    shop = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    threading.Thread(target=shop.serve_forever, daemon=True).start()
    place = f"http://127.0.0.1:{shop.server_port}"
    server = Server(WEB_ALLOWED_PRIVATE=f"127.0.0.1:{shop.server_port}", SANDBOX_TOOLS="read-only,web_scrape", SANDBOX_NETWORK=f"127.0.0.1:{shop.server_port}",
                    SANDBOX_NETWORK_PRIVATE="127.0.0.1").start()
    exchange = Exchange(server.port, 120)
    box = json.loads(exchange.send("POST", "/mcp/tools/create_sandbox", {}).text)["sandbox_id"]

    def run(code):
        result = json.loads(exchange.send("POST", "/mcp/tools/execute_python_code", {"sandbox_id": box, "code": code, "timeout": 110}).text)
        expect(result.get("exit_code") == 0, json.dumps(result)[:500])
        return result["stdout"].strip()

    inside = min(float(run(LOOP.format(calls=CALLS))) for _ in range(3))
    outside = min(median_outside(exchange) for _ in range(3))
    print(f"a call of list_sandboxes, median of {CALLS}: {inside:.3f} ms from code, {outside:.3f} ms from a program beside the server; {inside - outside:+.3f} ms")

    client = Exchange(server.port, 120).initialize()
    asked, said = [], []
    begun = time.perf_counter()
    for number in range(PAGES):
        arguments = {"url": f"{place}/{number}"}
        asked.append(json.dumps({"name": "web_scrape", "arguments": arguments}))
        said.append(text_of(client.call("web_scrape", arguments)))
    one_by_one = time.perf_counter() - begun
    code = CODE.format(place=place, pages=PAGES)
    arguments = {"sandbox_id": box, "code": code}
    begun = time.perf_counter()
    answer = text_of(client.call("execute_python_code", arguments))
    in_one = time.perf_counter() - begun
    expect("Product" in answer, answer)
    call = json.dumps({"name": "execute_python_code", "arguments": arguments})
    rows = [("round trips", PAGES, 1), ("tokens that the model writes", tokens(asked), tokens([call])), ("tokens that it reads", tokens(said), tokens([answer])),
            ("time of the server, s", round(one_by_one, 2), round(in_one, 2))]
    print(f"the cheapest of {PAGES} products, a page each ({answer.splitlines()[0]}):")
    print(f"  {'':30} {'one call a page':>16} {'tools from code':>16}")
    for name, before, after in rows:
        print(f"  {name:30} {before:>16} {after:>16}")
    server.stop()
    shop.shutdown()


main()
