"""Real servers that the programs of a sandbox reach, on addresses of a test's own network: pages over TLS and without, a git
repository (git http-backend), an index of Python packages, a registry of npm's protocol, a proxy of Go modules, a WebSocket that echoes, an echo of lines.

    network_site.py FOLDER ADDRESS...      (FOLDER has site.pem and site.key)"""
import base64
import hashlib
import http.server
import io
import json
import os
import socket
import socketserver
import ssl
import subprocess
import sys
import tarfile
import threading
import zipfile
from pathlib import Path

from package_index import Index

FOLDER = Path(sys.argv[1])


def npm_package():
    """A package as npm publishes it, and the document of its versions."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in (("package.json", json.dumps({"name": "hail", "version": "1.0.0", "main": "index.js"})), ("index.js", "module.exports = 'hail'")):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    digest = base64.b64encode(hashlib.sha512(packed.getvalue()).digest()).decode()
    about = {"name": "hail", "version": "1.0.0", "dist": {"tarball": "https://packages.test/hail/-/hail-1.0.0.tgz", "integrity": f"sha512-{digest}"}}
    return packed.getvalue(), json.dumps({"name": "hail", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": about}}).encode()


TARBALL, DOCUMENT = npm_package()


def go_module():
    """The files of a module proxy (go.dev/ref/mod, "GOPROXY protocol"), by their paths."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("hail.test/hail@v1.0.0/go.mod", "module hail.test/hail\n")
        archive.writestr("hail.test/hail@v1.0.0/hail.go", "package hail\n")
    base, about = "/go/hail.test/hail/@v/", b'{"Version": "v1.0.0"}'
    return {base + "list": b"v1.0.0\n", base + "v1.0.0.info": about, base + "v1.0.0.mod": b"module hail.test/hail\n", base + "v1.0.0.zip": packed.getvalue()}


MODULE = go_module()


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, content, kind="text/plain", status=200, **fields):
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **fields}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        path = self.path.partition("?")[0]
        if "secret" in self.path + self.headers.get("Host", ""):
            with open(FOLDER / "reached", "a", encoding="utf-8") as log:
                log.write(f"{self.headers['Host']} {self.path}\n")
        if self.headers.get("Upgrade", "").lower() == "websocket":
            self.websocket()
        elif path.startswith("/git/"):
            self.git()
        elif path in MODULE:
            self.answer(MODULE[path], "application/octet-stream")
        elif path == "/hail":
            self.answer(DOCUMENT, "application/json")
        elif path.endswith(".tgz"):
            self.answer(TARBALL, "application/octet-stream")
        elif path.startswith("/simple/"):
            names = [name for name in Index.files if name.startswith(f"/files/{path.split('/')[2]}-")]
            self.answer("".join(f'<a href="{name}">{name[7:]}</a>' for name in names).encode(), "text/html")
        elif path in Index.files:
            self.answer(Index.files[path], "application/octet-stream")
        elif path.startswith("/apt/"):
            self.apt(path[5:])
        elif path == "/away":
            self.answer(b"", status=302, Location="https://elsewhere.test/secret")
        elif path.startswith("/big/"):
            self.answer(bytes(int(path[5:])), "application/octet-stream")
        else:
            self.answer(f"this is {self.headers['Host']} at {self.connection.getsockname()[0]}".encode())

    def do_POST(self):
        if self.path.startswith("/git/"):
            return self.git()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(b"taken " + body)

    def apt(self, name):
        """A repository of apt in one folder (sources.list(5)), of one package."""
        name = name.removeprefix("./")
        if name in ("Packages", "hail.deb"):
            self.answer((FOLDER / name).read_bytes())
        else:
            self.answer(b"", status=404)

    def git(self):
        """git http-backend as a CGI program (git-http-backend(1))."""
        path, _, query = self.path.partition("?")
        size = int(self.headers.get("Content-Length", 0))
        done = subprocess.run(["git", "http-backend"], input=self.rfile.read(size), stdout=subprocess.PIPE, check=True, env={
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(FOLDER), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
            "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(size),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"})
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.answer(body, fields.pop("Content-Type"), int(fields.pop("Status", "200").split()[0]), **fields)

    def websocket(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())):
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        while (data := self.connection.recv(65536)):
            self.connection.sendall(data.upper())

    def log_message(self, *_):
        pass


def speak_grpc(address):
    """An echo over gRPC, whose messages are bytes."""
    import grpc
    from concurrent.futures import ThreadPoolExecutor

    class Echo(grpc.GenericRpcHandler):
        def service(self, call):
            return grpc.unary_unary_rpc_method_handler(lambda request, context: request.upper()) if call.method == "/test.Echo/Say" else None

    server = grpc.server(ThreadPoolExecutor(4), handlers=[Echo()])
    keys = grpc.ssl_server_credentials([((FOLDER / "site.key").read_bytes(), (FOLDER / "site.pem").read_bytes())])
    server.add_secure_port(f"{address}:8443", keys)
    server.start()
    return server


class Lines(socketserver.StreamRequestHandler):
    """Speaks first, as SSH and SMTP do."""

    def handle(self):
        self.wfile.write(b"welcome\n")
        for line in self.rfile:
            self.wfile.write(line.upper())


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self):
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "site", self.server_address[1]

    def handle_error(self, *_):     # clients that leave
        pass


class Six(Server):
    address_family = socket.AF_INET6


class LineServer(socketserver.ThreadingTCPServer):
    daemon_threads = allow_reuse_address = True


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FOLDER / "site.pem", FOLDER / "site.key")
    servers = []
    for address in sys.argv[2:]:
        kind = Six if ":" in address else Server
        servers.append(kind((address, 80), Site))
        secure = kind((address, 443), Site)
        secure.socket = context.wrap_socket(secure.socket, server_side=True, do_handshake_on_connect=False)
        servers.append(secure)
    servers.append(LineServer((sys.argv[2], 2525), Lines))
    for each in servers:
        threading.Thread(target=each.serve_forever, daemon=True).start()
    grpc = speak_grpc(sys.argv[2])
    print("ready", flush=True)
    grpc.wait_for_termination()


main()
