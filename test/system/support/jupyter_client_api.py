"""A client of Jupyter's REST and WebSocket API: bare HTTP and JSON messages, as programs without Jupyter's libraries write it."""
import json
import uuid

from harness import Exchange, expect
from websocket import TEXT, WebSocket


class Jupyter:
    def __init__(self, server, token=None, way="token"):
        """`way`: token or Bearer in Authorization, or query."""
        self.server, self.token, self.way = server, token, way
        self.exchange = Exchange(server.port, timeout=120)

    def ask(self, method, path, body=None):
        headers = {"Authorization": f"{self.way} {self.token}"} if self.token and self.way != "query" else {}
        if self.token and self.way == "query":
            path += ("&" if "?" in path else "?") + f"token={self.token}"
        answer = self.exchange.send(method, path, None if body is None else json.dumps(body), headers)
        return answer.status, json.loads(answer.text) if answer.text else None

    def get(self, path):
        status, body = self.ask("GET", path)
        expect(status == 200, f"GET {path}: {status} {body}")
        return body

    def start(self, path=None, spec=None):
        wish = {**({"path": path} if path else {}), **({"name": spec} if spec else {})}
        status, model = self.ask("POST", "/api/kernels", wish or None)
        expect(status == 201, f"no kernel: {status} {model}")
        return model["id"]

    def connect(self, kernel):
        return Channels(self.server, f"/api/kernels/{kernel}/channels" + (f"?token={self.token}" if self.token else ""))


class Channels:
    def __init__(self, server, path):
        self.socket, self.session = WebSocket(server.port, path), uuid.uuid4().hex

    def send(self, kind, channel="shell", **content):
        header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "username": "", "session": self.session, "date": "", "version": "5.3"}
        self.socket.send(json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": channel}).encode(), TEXT)
        return header["msg_id"]

    def next(self):
        data = self.socket.message()
        return None if data is None else json.loads(data)

    def replies(self, asked):
        """Messages for this request, up to idle and the reply."""
        seen, replied, idle = [], False, False
        while not (replied and idle):
            message = self.next()
            expect(message is not None, f"the connection ended after {[each['msg_type'] for each in seen]}")
            if message["parent_header"].get("msg_id") != asked:
                continue
            replied = replied or message["channel"] == "shell"
            idle = idle or message["content"].get("execution_state") == "idle"
            seen.append(message)
        return seen

    def execute(self, code, **options):
        return self.replies(self.send("execute_request", code=code, **{"silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True, **options}))

    def ask(self, kind, **content):
        return next(each["content"] for each in self.replies(self.send(kind, **content)) if each["channel"] == "shell")

    def close(self):
        self.socket.close()


def outputs(messages):
    """What a notebook's file keeps of a cell (nbformat 4); text of one stream that follows itself is one output."""
    kept = []
    for message in messages:
        kind, content = message["msg_type"], message["content"]
        if kind == "stream" and kept and kept[-1].get("name") == content["name"]:
            kept[-1]["text"] += content["text"]
        elif kind == "stream":
            kept.append({"output_type": "stream", "name": content["name"], "text": content["text"]})
        elif kind in ("display_data", "execute_result"):
            kept.append({"output_type": kind, **{name: content[name] for name in ("data", "metadata", "execution_count", "transient") if name in content}})
        elif kind == "update_display_data":
            for one in kept:
                if one.get("transient", {}).get("display_id") == content["transient"]["display_id"]:
                    one["data"] = content["data"]
        elif kind == "clear_output" and not content["wait"]:
            kept = []
        elif kind == "error":
            kept.append({"output_type": "error", "ename": content["ename"], "evalue": content["evalue"]})
    return kept


def printed(messages, name="stdout"):
    return "".join(each["text"] for each in outputs(messages) if each.get("name") == name)


def result(messages):
    return next((each["data"]["text/plain"] for each in outputs(messages) if each["output_type"] == "execute_result"), None)
