"""A real server that programs of a sandbox reach with secrets, and that tries to hand them back in every way it can. What it receives is
kept in FOLDER/received, a line of JSON a request.

    secrets_site.py FOLDER ADDRESS      (FOLDER has site.pem and site.key)"""
import base64
import gzip
import hashlib
import http.server
import json
import os
import socketserver
import ssl
import subprocess
import sys
import threading
import urllib.parse
import zlib
from pathlib import Path

from package_index import Index
from secrets_codings import CODINGS

FOLDER = Path(sys.argv[1])


def wide(text, coding):
    return text.encode(coding)


STORED = {}


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True      # head and body are written apart, and the second would wait for the answer to the first

    def answer(self, content, kind="text/plain", status=200, **fields):
        content = content.encode() if isinstance(content, str) else content
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **fields}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def chunks(self, content, size):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for at in range(0, len(content), size):
            piece = content[at:at + size]
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def take(self):
        size = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(size)
        if self.headers.get("Transfer-Encoding") == "chunked":
            while (length := int(self.rfile.readline(), 16)):
                body += self.rfile.read(length)
                self.rfile.readline()
            self.rfile.readline()
        if self.path.startswith("/stored/"):
            return body
        with open(FOLDER / "received", "a", encoding="utf-8") as log:
            log.write(json.dumps({"host": self.headers.get("Host"), "port": self.connection.getsockname()[1], "path": self.path, "method": self.command,
                                  "headers": list(self.headers.items()), "body": body.decode("latin-1")}) + "\n")
        return body

    def serve(self):
        body = self.take()
        path, _, query = self.path.partition("?")
        login = self.headers.get("Authorization", "")
        key = login.partition(" ")[2] or urllib.parse.unquote(query.partition("key=")[2])
        if self.headers.get("Upgrade", "").lower() == "websocket":
            return self.websocket(key)
        if path.startswith("/stored/"):
            return self.stored(body, path, query)
        if path.startswith("/coded/"):
            return self.answer(b"<" + CODINGS[path[7:]](key) + b">")
        if path.startswith(("/git/", "/simple/", "/files/")):
            return self.behind_login(body, path, login)
        ways = {
            "/echo": lambda: self.answer(json.dumps({"path": self.path, "headers": dict(self.headers), "body": body.decode("latin-1")}), "application/json"),
            "/header": lambda: self.answer("in the header", X_Echo=key, **{"Set-Cookie": f"session={key}"}),
            "/header-name": lambda: self.answer("in a name", **{f"X-{key}": "1"}),
            "/error": lambda: self.answer(f"<html>no access for {key}</html>", "text/html", 500),
            "/denied": lambda: self.answer(f"{key} is denied", status=401, **{"WWW-Authenticate": f'Bearer realm="{key}"'}),
            "/redirect": lambda: self.answer("", status=302, Location=f"https://elsewhere.test/taken?key={urllib.parse.quote(key)}"),
            "/redirect-plain": lambda: self.answer("", status=302, Location=f"http://elsewhere.test/taken?key={key}"),
            "/chunks": lambda: self.chunks(f"before {key} after".encode(), 1),
            "/halves": lambda: self.chunks(f"before {key} after".encode(), 20),
            "/gzip": lambda: self.answer(gzip.compress(key.encode()), Content_Encoding="gzip"),
            "/deflate": lambda: self.answer(zlib.compress(key.encode()), Content_Encoding="deflate"),
            "/br": lambda: self.answer(b"\x0b\x10\x80" + key.encode() + b"\x03", Content_Encoding="br"),
            "/own-coding": lambda: self.answer(bytes(byte ^ 1 for byte in key.encode()), Content_Encoding="x-one-off"),
            "/large-header": lambda: self.answer("large", X_Large=(key + "-") * 20000),
            "/base64": lambda: self.answer(base64.b64encode(key.encode())),
            "/base64-login": lambda: self.answer(base64.b64encode(b"someone:" + key.encode() + b"!")),
            "/base64-lines": lambda: self.answer(base64.encodebytes(key.encode() * 5)),
            "/percent": lambda: self.answer("".join(f"%{byte:02X}" for byte in key.encode())),
            "/quoted": lambda: self.answer(urllib.parse.quote(key, safe="")),
            "/json": lambda: self.answer("".join(f"\\u{ord(c):04x}" for c in key), "application/json"),
            "/html": lambda: self.answer("".join(f"&#{ord(c)};" for c in key), "text/html"),
            "/hex": lambda: self.answer(key.encode().hex()),
            "/hex-upper": lambda: self.answer(key.encode().hex().upper()),
            "/utf16": lambda: self.answer(wide(key, "utf-16-le"), "text/plain; charset=utf-16"),
            "/utf16be": lambda: self.answer(wide(key, "utf-16-be"), "text/plain; charset=utf-16"),
            "/many": lambda: self.answer(key * 5000),
            "/until-the-end": lambda: self.until_the_end(key),
            "/long/1": lambda: self.answer((f"line with {key}\n") * 40000),
            "/events": lambda: self.chunks(b"".join(f"data: {number} {key}\n\n".encode() for number in range(5)), 7),
            "/range": lambda: self.part(key),
            "/interim": lambda: self.interim(key),
        }
        ways.get(path, lambda: self.answer(f"this is {self.headers['Host']}"))()

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = do_TRACE = do_PATCH = serve

    def part(self, key):
        """Half of an answer that holds the secret, as somebody would ask for who knows of the mask."""
        text = f"key={key}".encode()
        wanted = self.headers.get("Range", "")
        if not wanted:
            return self.answer(text)
        first, last = wanted.removeprefix("bytes=").split("-")
        self.answer(text[int(first):int(last) + 1], status=206, Content_Range=f"bytes {first}-{last}/{len(text)}")

    def stored(self, body, path, query):
        """What a client has put there comes back, to be read by anybody."""
        if self.command == "PUT":
            STORED[path] = body
            return self.answer("", status=201)
        content = STORED.get(path, b"")
        return self.chunks(content, 5000) if query == "chunks" else self.answer(content)

    def until_the_end(self, key):
        self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nto the end " + key.encode() + b".")
        self.close_connection = True
        self.wfile.flush()
        self.connection = self.connection.unwrap() if isinstance(self.connection, ssl.SSLSocket) else self.connection

    def interim(self, key):
        self.wfile.write(f"HTTP/1.1 103 Early Hints\r\nLink: </{key}>\r\n\r\n".encode())
        self.answer("after the hints")

    def behind_login(self, body, path, login):
        wanted = "Basic " + base64.b64encode(b"git:" + (FOLDER / "git-token").read_bytes()).decode()
        if login != wanted:
            return self.answer("who are you?", status=401, **{"WWW-Authenticate": 'Basic realm="packages"'})
        if path.startswith("/simple/"):
            names = [name for name in Index.files if name.startswith(f"/files/{path.split('/')[2]}-")]
            return self.answer("".join(f'<a href="{name}">{name[7:]}</a>' for name in names), "text/html")
        if path in Index.files:
            return self.answer(Index.files[path], "application/octet-stream")
        return self.git(body)

    def git(self, body):
        """git http-backend as a CGI program (git-http-backend(1))."""
        path, _, query = self.path.partition("?")
        done = subprocess.run(["git", "http-backend"], input=body, stdout=subprocess.PIPE, check=True, env={
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(FOLDER), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query, "REMOTE_USER": "git",
            "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"})
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.answer(content, fields.pop("Content-Type"), int(fields.pop("Status", "200").split()[0]), **fields)

    def websocket(self, key):
        accept = base64.b64encode(hashlib.sha1((self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept), ("X-Echo", key)):
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        frame = lambda first, text: self.connection.sendall(bytes([first, len(text)]) + text)
        key = key.encode()
        frame(0x81, b"you are " + key)
        if "split" in self.path:    # a message in three frames, with a ping between them
            frame(0x01, b"in parts " + key[:7])
            frame(0x89, b"ping")
            frame(0x00, key[7:20])
            frame(0x80, key[20:] + b" end")
        while (head := self.rfile.read(6)):     # frames of at most 125 bytes, as clients mask them
            mask = head[2:]
            frame(0x81, bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(head[1] & 0x7f))))

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100

    def server_bind(self):
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "site", self.server_address[1]

    def handle_error(self, *_):     # clients that leave
        pass


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FOLDER / "site.pem", FOLDER / "site.key")
    for port in (80, 443, 8443):
        server = Server((sys.argv[2], port), Site)
        if port != 80:
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    threading.Event().wait()


main()
