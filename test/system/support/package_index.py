"""An index of Python packages on loopback, with packages that are made here."""
import base64
import hashlib
import http.server
import io
import threading
import zipfile


def wheel(name, version, text):
    made, record = io.BytesIO(), []
    with zipfile.ZipFile(made, "w") as archive:
        def add(path, content):
            digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(content)}")
            archive.writestr(path, content)
        info = f"{name}-{version}.dist-info"
        add(f"{name}/__init__.py", text)
        add(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        add(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "\n".join(record + [f"{info}/RECORD,,"]) + "\n")
    return made.getvalue()


class Index(http.server.BaseHTTPRequestHandler):
    files = {f"/files/greeter-{v}-py3-none-any.whl": wheel("greeter", v, f"version = '{v}'\n") for v in ("1.0", "2.0")}
    files["/files/lonely-1.0.tar.gz"] = b"not a wheel"
    asked = []

    def do_GET(self):
        self.asked.append(self.path)
        content = self.files.get(self.path)
        if self.path.startswith("/simple/"):
            names = [path for path in self.files if path.startswith(f"/files/{self.path.split('/')[2]}-")]
            content = "".join(f'<a href="{path}">{path[7:]}</a>' for path in names).encode() or None
        self.send_response(200 if content is not None else 404)
        self.send_header("Content-Type", "text/html" if self.path.startswith("/simple/") else "application/octet-stream")
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *_):
        pass


def start_index(handler=Index):
    """A server whose `server_port` has the index at /simple; for `shutdown()` by its user."""
    index = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=index.serve_forever, daemon=True).start()
    return index
