"""The audit as somebody reads it who has nothing of ours: the chain of a folder by hashlib alone, the signatures by openssl."""
import hashlib
import json
import re
import subprocess
import tempfile
from pathlib import Path

NOTHING = "0" * 64
KEY_PREFIX = bytes.fromhex("302a300506032b6570032100")     # RFC 8410: an Ed25519 public key follows


def canonical(arguments):
    """RFC 8785, for what tests send."""
    return json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digest_of(arguments):
    return hashlib.sha256(canonical(arguments)).hexdigest()


def files(folder):
    return sorted(Path(folder).glob("audit-*.jsonl"))


def records(folder, kind=None):
    """All records, without looking whether they belong together; a last line that is not whole is left out."""
    found = []
    for file in files(folder):
        for line in file.read_bytes().split(b"\n")[:-1]:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if kind in (None, record["kind"]):
                found.append(record)
    return found


def is_signed(text, signature, key):
    with tempfile.TemporaryDirectory() as folder:
        names = [Path(folder, name) for name in ("key", "text", "signature")]
        for name, content in zip(names, (KEY_PREFIX + bytes.fromhex(key), text, bytes.fromhex(signature))):
            name.write_bytes(content)
        done = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", names[0], "-rawin", "-in", names[1], "-sigfile",
                               names[2]], capture_output=True, check=False)
        return done.returncode == 0


def check(folder, first=1):
    """Follows the chain; raises AssertionError with the place. Returns the number of the last record."""
    number, before, key, next_key, doubt = first - 1, None, None, None, b""
    for file in files(folder):
        lines = file.read_bytes().split(b"\n")
        latest_head = None
        for at, line in enumerate(lines[:-1]):
            line_name = f"{file.name}, line {at + 1}"
            body, _, end = line.rpartition(b',"chain":"')
            if not re.fullmatch(rb'[0-9a-f]{64}"}', end):
                doubt += (b"\n" if doubt else b"") + line
                continue
            record = json.loads(line)
            if at == 0:
                assert record["kind"] == "file" and f"{record['n']:012}" in file.name, f"{line_name}: no beginning"
                assert before in (None, record["previous"]) and next_key in (None, record["key"]), f"{line_name}: does not go on"
                before, key, next_key = record["previous"], record["key"], None
            before = hashlib.sha256(before.encode() + body).hexdigest()
            assert end == before.encode() + b'"}', f"{line_name}: digest"
            number += 1
            assert record["n"] == number, f"{line_name}: record {record['n']} in the place of {number}"
            if record["kind"] == "torn":
                assert record["bytes"] == len(doubt) and record["sha256"] == hashlib.sha256(doubt).hexdigest(), f"{line_name}: torn"
                doubt = b""
            assert not doubt, f"{line_name}: stands behind a line that is none"
            if record["kind"] == "head":
                assert record["key"] == key, f"{line_name}: key"
                latest_head, next_key = (body, key), record.get("next_key")
        if latest_head:
            text, _, signature = latest_head[0].rpartition(b',"signature":"')
            assert is_signed(text, signature[:-1].decode(), latest_head[1]), f"{file.name}: signature"
    assert not doubt, "a line at the end is none"
    return number
