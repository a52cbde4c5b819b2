#!/usr/bin/env python3
"""A kernel over ZeroMQ, as Jupyter's own clients and tests start one, behind which stands a kernel of the server's Jupyter API.

    jupyter_bridge.py PORT CONNECTION_FILE

Messages go over unchanged but for their framing. What only a kernel with sockets has, its heartbeat and its ports, is answered here."""
import datetime
import json
import sys
import threading
from pathlib import Path

import zmq
from jupyter_client.session import Session

from harness import Exchange
from websocket import TEXT, WebSocket

PORTS = "shell_port", "iopub_port", "stdin_port", "control_port", "hb_port"


class Bridge:
    def __init__(self, port, connection):
        self.port, self.connection = port, connection
        self.session = Session(key=connection["key"].encode(), signature_scheme=connection["signature_scheme"])
        self.context = zmq.Context()
        self.sockets = {"shell": self.bound(zmq.ROUTER, "shell_port"), "control": self.bound(zmq.ROUTER, "control_port"),
                        "stdin": self.bound(zmq.ROUTER, "stdin_port"), "iopub": self.bound(zmq.PUB, "iopub_port")}
        self.heartbeat = self.bound(zmq.REP, "hb_port")
        self.held = {}              # replies by the id of their request, until all that it showed has gone out
        self.askers = {}            # who sent a message, by its id; clients give all their sockets one identity
        self.exchange = Exchange(port, timeout=120)
        self.kernel = json.loads(self.exchange.send("POST", "/api/kernels", json.dumps({"name": "python3"})).text)["id"]
        self.channels = WebSocket(port, f"/api/kernels/{self.kernel}/channels?session_id=bridge")
        self.channels.socket.settimeout(None)
        # A message of the server's is taken from a socket of ours, so that one loop waits for all.
        self.told, self.tells = self.context.socket(zmq.PULL), self.context.socket(zmq.PUSH)
        self.told.bind("inproc://told")
        self.tells.connect("inproc://told")
        threading.Thread(target=self.listen, daemon=True).start()

    def bound(self, kind, port):
        socket = self.context.socket(kind)
        socket.linger = 1000
        if kind == zmq.ROUTER:
            socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
        socket.bind(f"{self.connection['transport']}://{self.connection['ip']}:{self.connection[port]}")
        return socket

    def listen(self):
        while (message := self.channels.message()) is not None:
            self.tells.send(message)
        self.tells.send(b"")

    def to_client(self, message):
        """False when the kernel has ended. Jupyter's tests wait a tenth of a second for what a cell shows once they have its reply, so that goes first."""
        channel, kind = message["channel"], message["header"]["msg_type"]
        request = message["parent_header"].get("msg_id")
        whole = {name: message[name] for name in ("header", "parent_header", "metadata", "content")}
        whole |= {"msg_id": message["header"]["msg_id"], "msg_type": kind}
        if channel == "shell":
            self.held[request] = whole
        elif channel == "iopub":
            self.session.send(self.sockets[channel], whole, ident=kind.encode())
            if message["content"].get("execution_state") == "idle" and request in self.held:
                self.pass_on("shell", request, self.held.pop(request))
        else:
            self.pass_on(channel, request, whole)
        return channel == "iopub" or kind != "shutdown_reply" or message["content"]["restart"]

    def pass_on(self, channel, request, whole):
        if request in self.askers:
            self.session.send(self.sockets[channel], whole, ident=self.askers[request])

    def to_server(self, channel):
        asker, message = self.session.recv(self.sockets[channel])
        header = message["header"]
        if header["msg_type"] == "connect_request":
            content = {name: self.connection[name] for name in PORTS}
            self.session.send(self.sockets[channel], "connect_reply", content, parent=header, ident=asker)
            return
        self.askers[header["msg_id"]] = asker
        whole = {"header": header, "parent_header": message["parent_header"], "metadata": message["metadata"], "content": message["content"], "channel": channel, "buffers": []}
        self.channels.send(json.dumps(whole, default=written).encode(), TEXT)

    def run(self):
        poller = zmq.Poller()
        channels = {self.sockets[name]: name for name in ("shell", "control", "stdin")}
        for socket in (*channels, self.heartbeat, self.told):
            poller.register(socket, zmq.POLLIN)
        goes_on = True
        while goes_on:
            for socket, _ in poller.poll():
                if socket is self.heartbeat:
                    socket.send(socket.recv())
                elif socket is self.told:
                    data = socket.recv()
                    goes_on = goes_on and data != b"" and self.to_client(json.loads(data))
                else:
                    self.to_server(channels[socket])
        self.channels.close()
        self.exchange.send("DELETE", f"/api/kernels/{self.kernel}")
        self.context.destroy(linger=1000)


def written(value):
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} in a message")


Bridge(int(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))).run()
