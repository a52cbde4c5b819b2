"""A WebSocket of this file's own (RFC 6455)."""
import base64
import hashlib
import json
import os
import socket
import struct

from harness import SLOWNESS, expect

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(f"{status}: {text[:200]}")
        self.status = status


class WebSocket:
    def __init__(self, port, path, headers=None, tls=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60 * SLOWNESS)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="127.0.0.1")
        key = base64.b64encode(os.urandom(16)).decode()
        fields = {"Host": f"127.0.0.1:{port}", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key,
                  "Sec-WebSocket-Version": "13", **(headers or {})}
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items() if value is not None)]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            self.more()
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        status = int(head.split()[1])
        if status != 101:
            raise Refused(status, head.decode() + self.rest.decode())
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        expect(f"sec-websocket-accept: {accept}".lower() in head.decode().lower(), f"no accept of this key: {head}")
        self.head = head.decode()
        self.shown, self.end = b"", None

    def more(self):
        piece = self.socket.recv(65536)
        expect(piece, "the connection ended")
        self.rest += piece

    def take(self, length):
        while len(self.rest) < length:
            self.more()
        taken, self.rest = self.rest[:length], self.rest[length:]
        return taken

    def send(self, data, kind=BINARY):
        length = len(data)
        size = bytes([0x80 | length]) if length < 126 else b"\xfe" + struct.pack("!H", length) if length < 1 << 16 else b"\xff" + struct.pack("!Q", length)
        mask = os.urandom(4)
        self.socket.sendall(bytes([0x80 | kind]) + size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def order(self, **what):
        self.send(json.dumps(what).encode(), TEXT)

    def type(self, text):
        self.send(text.encode())

    def message(self):
        """The next whole message, which the server sends in one frame; nothing after the end."""
        self.shown = b""
        while self.frame():
            if self.shown:
                return self.shown
        return None

    def frame(self):
        """Takes one frame; False after the end."""
        kind, size = self.take(2)
        if size >= 126:
            size = struct.unpack("!H" if size == 126 else "!Q", self.take(2 if size == 126 else 8))[0]
        data = self.take(size)
        if kind & 15 == CLOSE:
            self.end = (struct.unpack("!H", data[:2])[0], data[2:].decode())
            self.send(data, CLOSE)
            return False
        if kind & 15 == PING:
            self.send(data, PONG)
        else:
            self.shown += data
        return True

    def until(self, text):
        """What is shown up to this text."""
        while (at := self.shown.find(text.encode())) < 0:
            self.shown = self.shown[-10000:]
            expect(self.frame(), f"ended with {self.end} before {text!r}; shown: {self.shown[-300:]!r}")
        before, self.shown = self.shown[:at], self.shown[at + len(text):]
        return before.decode("utf-8", "replace")

    def until_end(self):
        while self.frame():
            pass
        return self.end

    def close(self):
        self.socket.close()
