"""A program for a sandbox that serves a port in good and in hostile ways, by path: preview_app.py PORT"""
import base64
import hashlib
import json
import socket
import sys
import threading
import urllib.parse


def read_request(stream):
    line = stream.readline().decode("latin-1").rstrip("\r\n")
    if not line:
        return None
    method, target, _ = line.split(" ")
    headers = []
    while (field := stream.readline().decode("latin-1").rstrip("\r\n")):
        name, _, value = field.partition(":")
        headers.append((name.lower(), value.strip()))
    given = dict(headers)
    body = b""
    if given.get("transfer-encoding") == "chunked":
        while (size := int(stream.readline(), 16)):
            body += stream.read(size)
            stream.readline()
        stream.readline()
    elif "content-length" in given:
        body = stream.read(int(given["content-length"]))
    return method, target, headers, body


def plain(text, *fields, status="200 OK", kind="text/plain"):
    body = text if isinstance(text, bytes) else text.encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *fields]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def echo(method, target, headers, body):
    return plain(json.dumps({"method": method, "target": target, "headers": headers, "length": len(body),
                             "sha": hashlib.sha256(body).hexdigest()}), kind="application/json")


def websocket(peer, headers):
    key = dict(headers)["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
    peer.sendall(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\nearly".encode())
    while (data := peer.recv(65536)):
        peer.sendall(data.upper())


def forever(peer, piece):
    while True:
        peer.sendall(piece)


OK = b"HTTP/1.1 200 OK\r\n"
RAW = {
    "/unasked-101": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
    "/wrong-101": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: AAAA\r\n\r\n",
    "/early-hints": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + plain("after"),
    "/te-and-cl": OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "/two-lengths": OK + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
    "/bad-chunk": OK + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\nabc",
    "/garbage": b"\x16\x03\x01 this is no HTTP\r\n\r\n",
    "/nothing": b"",
    "/partial": OK + b"Content-Length: 100\r\n\r\n0123456789",
    "/until-end": OK + b"Content-Type: text/plain\r\n\r\nuntil the end",
    "/folded": OK + b"X-Total-Count: 1\r\n Set-Cookie: evil=1\r\nContent-Length: 2\r\n\r\nok",
    "/second-answer": plain("ok") + plain("evil", "Set-Cookie: evil=1"),
    "/chunked": OK + b"Transfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nX-Late: evil\r\n\r\n",
    "/cookies": plain("ok", "Set-Cookie: good=1; Path=/", "Set-Cookie: wide=1; Domain=localhost", "Set-Cookie: cmcp_preview=evil"),
    "/open": plain("ok", "Access-Control-Allow-Origin: *", "Access-Control-Allow-Credentials: true", "Clear-Site-Data: \"*\"",
                   "Service-Worker-Allowed: /", "NEL: {}", "Report-To: {}", "Strict-Transport-Security: max-age=1",
                   "WWW-Authenticate: Basic realm=server", "Content-Security-Policy: default-src *", "Refresh: 0; url=/mcp"),
    "/hop": plain("ok", "Connection: X-Powered-By", "X-Powered-By: hop", "Keep-Alive: timeout=5", "Upgrade: h2c"),
    "/script": plain("""<title>Script</title><p id=a></p><p id=b></p><script>
        fetch('/echo').then(answer => answer.json()).then(seen => { a.textContent = 'saw ' + seen.target; return fetch(location.hash.slice(1)) })
            .then(() => b.textContent = 'reached', () => b.textContent = 'refused')</script>""", kind="text/html"),
    "/page": plain("<title>Seen</title><p>The page of the sandbox</p>", kind="text/html"),
}


def serve(peer):
    stream = peer.makefile("rb")
    request = read_request(stream)
    if not request:
        return
    method, target, headers, body = request
    path, _, query = target.partition("?")
    if path in RAW:
        peer.sendall(RAW[path])
    elif path == "/redirect":
        peer.sendall(plain("", f"Location: {urllib.parse.unquote(query)}", status="302 Found"))
    elif path == "/endless-header":
        peer.sendall(OK)
        forever(peer, b"X-Filler: " + b"a" * 1000 + b"\r\n")
    elif path == "/endless-interim":
        forever(peer, b"HTTP/1.1 100 Continue\r\n\r\n")
    elif path == "/endless-body":
        peer.sendall(OK + b"\r\n")
        forever(peer, b"x" * 65536)
    elif path == "/events":
        peer.sendall(OK + b"Content-Type: text/event-stream\r\n\r\ndata: first\n\n")
        stream.read(1)      # until the connection ends
    elif path == "/silent":
        stream.read(1)
    elif path == "/big":
        peer.sendall(plain(b"0123456789abcdef" * (1 << 20)))
    elif path == "/range":
        peer.sendall(plain("cde", "Content-Range: bytes 2-4/10", status="206 Partial Content") if dict(headers).get("range") == "bytes=2-4" else plain("abcdefghij"))
    elif path == "/ws":
        websocket(peer, headers)
    elif method == "HEAD":
        peer.sendall(OK + b"Content-Length: 12345\r\n\r\n")
    else:
        peer.sendall(echo(method, target, headers, body))


def handle(peer):
    try:
        serve(peer)
    except OSError:
        pass
    finally:
        peer.close()


threading.stack_size(256 << 10)     # stacks count as data, which the sandbox bounds
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=128)
while True:
    client, _ = listener.accept()
    threading.Thread(target=handle, args=(client,), daemon=True).start()
