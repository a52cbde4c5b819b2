"""An agent that has nothing but what its client shows it. Two kinds of clients: one gives the model `structuredContent` as JSON
where there is some, and drops the blocks of content then; the other gives it `content`. Both cut at 25,000 tokens."""
import base64
import json
import re

from harness import Exchange, expect

MOST_TOKENS = 25_000
SHORTEST_TOKEN = 3      # bytes of a token in text of numbers and logs, or fewer: estimated too many rather than too few

# A picture of a diagonal, by the standard library alone.
DRAW = """
import struct, zlib
def draw(name, size):
    rows = b''.join(b'\\0' + bytes(255 * (x == y) for x in range(size)) for y in range(size))
    def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    head = struct.pack('>IIBBBBB', size, size, 8, 0, 0, 0, 0)
    open(name, 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
"""


class Shown:
    """What the model sees of one call."""

    def __init__(self, text, images):
        self.text, self.images = text, images

    def find(self, pattern):
        found = re.search(pattern, self.text)
        expect(found, f"the model is not shown {pattern}: {self.text[:500]}")
        return found.group(found.lastindex or 0)

    def has(self, *parts):
        for part in parts:
            expect(part in self.text, f"the model is not shown {part!r}: {self.text[:500]} … {self.text[-300:]}")
        return self


class Agent:
    """`seen` holds the texts of all calls so far."""

    def __init__(self, port, client, drops_content):
        self.exchange, self.client, self.drops_content, self.seen = Exchange(port, timeout=120), client, drops_content, []
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": client, "version": "2"}}
        answer = self.exchange.rpc("initialize", hello)
        self.exchange.session = {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-11-25"}

    def call(self, tool, **arguments):
        result = self.exchange.call(tool, arguments)
        expect("rpc_error" not in result, f"{tool}: {result.get('rpc_error')}")
        if self.drops_content and "structuredContent" in result:
            text, images = json.dumps(result["structuredContent"], ensure_ascii=False), []
        else:
            blocks = result["content"]
            text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
            images = [base64.b64decode(block["data"]) for block in blocks if block["type"] == "image"]
        expect(len(text.encode()) <= MOST_TOKENS * SHORTEST_TOKEN, f"{tool}: the client cuts {len(text)} characters")
        self.seen.append(text)
        return Shown(text, images)
