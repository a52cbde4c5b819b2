#!/usr/bin/env python3
"""package_driver.py: the way of a package manager's bytes through the channel, and the report of what is installed."""
import json
import pathlib
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support import embedded

# Stands for pip: speaks with the proxy that the driver names, then installs a package for npm.
MANAGER = """
import os, socket, urllib.parse
proxy = urllib.parse.urlsplit(os.environ['https_proxy'])
assert (proxy.username, proxy.password, os.environ.get('PROXY_LOGIN')) == ('user', 'secret', None)
with socket.create_connection((proxy.hostname, proxy.port)) as link:
    link.sendall(b'question')
    assert link.recv(100) == b'reply'
os.makedirs('node_modules/@here/one')
open('node_modules/@here/one/package.json', 'w').write('{"version": "1.5"}')
raise SystemExit(int(os.environ['STATUS']))
"""


class Packages(unittest.TestCase):
    def install(self, status):
        peer = embedded.Peer()
        self.addCleanup(peer.socket.close)
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as result:
            run = embedded.Run(embedded.program("sandboxes/package_driver.py"), [embedded.PYTHON, "-I", "-c", MANAGER],
                               {3: peer.theirs.fileno(), 4: result.fileno()}, {"PROXY_LOGIN": "user:secret", "STATUS": str(status)}, folder)
            self.addCleanup(run.end)
            peer.theirs.close()
            frames = [self.frame(peer), self.frame(peer)]
            number = frames[0][1]
            peer.socket.sendall(struct.pack(">cII", b"d", number, 5) + b"reply")
            self.assertEqual(frames, [(b"o", number, b""), (b"d", number, b"question")])
            code = run.wait()
            result.seek(0)
            return code, json.loads(result.read())

    def frame(self, peer):
        kind, number, size = struct.unpack(">cII", peer.exactly(9))
        return kind, number, peer.exactly(size)

    def test_bytes_go_through_the_channel_and_new_packages_are_told(self):
        code, report = self.install(0)
        self.assertEqual(code, 0)
        self.assertEqual({name: version for name, version in report["after"].items() if name not in report["before"]}, {"npm:@here/one": "1.5"})

    def test_the_exit_code_is_the_package_managers(self):
        self.assertEqual(self.install(3)[0], 3)


if __name__ == "__main__":
    embedded.main()
