"""An authorization server with one key for tests and measurements: metadata, keys, introspection, and tokens that openssl signs."""
import base64
import http.server
import json
import subprocess
import threading
import time
from pathlib import Path


def plain(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """An authorization server with one key, which openssl makes, and a token of it."""

    def __init__(self, folder):
        self.key = Path(folder, "key.pem")
        subprocess.run(["openssl", "genrsa", "-out", self.key, "2048"], check=True, capture_output=True)
        modulus = subprocess.run(["openssl", "rsa", "-in", self.key, "-noout", "-modulus"], check=True, capture_output=True, text=True).stdout
        self.jwk = {"kty": "RSA", "kid": "1", "e": "AQAB", "n": plain(bytes.fromhex(modulus.strip().partition("=")[2]))}
        self.opaque, self.introspected, self.audience = set(), [], ""
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.answer({"keys": [issuer.jwk]} if self.path == "/jwks" else {"issuer": issuer.name, "jwks_uri": issuer.name + "/jwks"})

            def do_POST(self):
                form = self.rfile.read(int(self.headers["Content-Length"])).decode()
                issuer.introspected.append((form, self.headers["Authorization"]))
                self.answer({"active": any(token in form for token in issuer.opaque), "sub": "opaque", "scope": "mcp:read mcp:run",
                             "aud": issuer.audience, "exp": int(time.time()) + 3600})

            def answer(self, body):
                data = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.name = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def token(self, audience, scope="mcp:read mcp:run"):
        header = {"alg": "RS256", "typ": "at+jwt", "kid": "1"}
        claims = {"iss": self.name, "sub": "bench", "aud": audience, "exp": int(time.time()) + 86400, "scope": scope}
        text = ".".join(plain(json.dumps(part).encode()) for part in (header, claims))
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=text.encode(), check=True, capture_output=True).stdout
        return f"{text}.{plain(signature)}"
