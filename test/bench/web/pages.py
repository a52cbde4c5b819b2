"""The pages that scripts/bench-web reads, and the web server on loopback that has them, in a process of its own."""
import http.server
import multiprocessing
import socket

SELECTOR = "p.item"
SIZE = 100 * 1024


def article():
    """100 KiB as a shop or a wiki has them: paragraphs, links, lists, a table, some scripts and styles."""
    head = ("<!doctype html><html lang=en><head><meta charset=utf-8><title>A page of 100 KiB</title><style>p{margin:1em}.note{color:#444}</style>"
            "</head><body><nav><ul>" + "".join(f"<li><a href=/section/{n}>Section {n}</a>" for n in range(20)) + "</ul></nav><main><h1>A page</h1>")
    foot = "</main><footer>The end</footer></body></html>"
    made, number = [], 0
    size = len(head) + len(foot)
    while True:
        part = (f"<section id=s{number}><h2>Part {number}</h2><p class=item>Item {number}: words and <b>more</b> words about "
                f"<a href=\"/item/{number}\">thing {number}</a>, a grüner Käse among them.</p><p class=note>A note on it, which is longer than the item and "
                f"says <em>little</em>.</p><ul><li>one<li>two<li>three</ul><table><tr><td>{number}<td>{number * 7}</table></section>")
        if size + len(part.encode()) > SIZE:
            return (head + "".join(made) + "<!--" + "x" * max(0, SIZE - size - 7) + "-->" + foot).encode()
        made.append(part)
        size += len(part.encode())
        number += 1


SCRIPTED = ("<!doctype html><meta charset=utf-8><title>Made by a script</title><ul id=list></ul><script>fetch('/data').then(r => r.json()).then(all => {"
            "for (const one of all) list.insertAdjacentHTML('beforeend', `<li>${one}</li>`) })</script>").encode()
DATA = ("[" + ",".join(f'"entry {n}"' for n in range(200)) + "]").encode()


def growing(number):
    """A page that takes some memory while it is shown, another each time."""
    return (f"<!doctype html><title>Page {number}</title><h1>Page {number}</h1><div id=a></div><script>const kept = new Uint8Array(8 << 20).fill({number % 255});"
            f"for (let i = 0; i < 500; i++) a.insertAdjacentHTML('beforeend', `<p>{number} ${{i}} ${{kept[i]}}`)</script>").encode()


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 18              # header and body in one segment
    fixed = {"/article": ("text/html; charset=utf-8", article()), "/scripted": ("text/html", SCRIPTED), "/data": ("application/json", DATA)}

    def do_GET(self):
        kind, body = self.fixed.get(self.path, ("text/html", b""))
        if self.path.startswith("/page/"):
            body = growing(int(self.path.rpartition("/")[2]))
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Listener(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


def serve():
    """Starts the server. Returns its process, which ends with this one, and its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    listener = Listener(("127.0.0.1", port), Pages)
    process = multiprocessing.get_context("fork").Process(target=listener.serve_forever, daemon=True)
    process.start()
    listener.socket.close()
    return process, port
