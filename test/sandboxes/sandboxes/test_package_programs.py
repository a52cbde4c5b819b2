#!/usr/bin/env python3
"""package_fetcher.py: the way of a package manager's questions through the door, and the archive of what it fetched.
package_installer.py: what the archive brings, the report of what is installed, and that nothing of the caller runs meanwhile."""
import base64
import hashlib
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from support import embedded, patience

# Stands for a package manager that fetches: asks the proxy that its environment names, and keeps the answer.
ASK = """
import http.client, os, sys, urllib.parse
proxy = urllib.parse.urlsplit(os.environ['http_proxy'])
def ask(method, address, **more):
    link = http.client.HTTPConnection(proxy.hostname, proxy.port)
    link.request(method, address, **more)
    answer = link.getresponse()
    return answer.status, answer.read()
"""
KEEP = "status, body = ask('GET', 'http://index.example/simple/one/')\nopen('packages/one', 'wb').write(body)\nraise SystemExit(status - 200)\n"


class Fetcher(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.peer = embedded.Peer()
        self.addCleanup(self.peer.socket.close)

    def begin(self, manager):
        self.run_ = embedded.Run(embedded.program("packages/package_fetcher.py"), [embedded.PYTHON, "-I", "-c", ASK + manager],
                                 {3: self.peer.theirs.fileno()}, {}, self.folder.name)
        self.addCleanup(self.run_.end)
        self.peer.theirs.close()

    def frame(self):
        kind, number, size = struct.unpack(">cII", self.peer.exactly(9))
        return kind, number, self.peer.exactly(size)

    def send(self, kind, number, data=b""):
        self.peer.socket.sendall(struct.pack(">cII", kind, number, len(data)) + data)

    def answer(self, number, body, status=200, length=None):
        self.send(b"h", number, json.dumps({"status": status, "type": "text/html", "length": length}).encode())
        for piece in body:
            self.send(b"d", number, piece)
        self.send(b"e", number)

    def archive(self):
        with tarfile.open(pathlib.Path(self.folder.name, "packages.tar")) as archive:
            return {each.name: archive.extractfile(each).read() for each in archive if each.isfile()}

    def test_an_address_goes_through_the_door_and_what_was_fetched_is_packed(self):
        for length in (None, 8):
            with self.subTest(length=length):
                self.setUp()
                self.begin(KEEP)
                kind, number, address = self.frame()
                self.assertEqual((kind, address), (b"g", b"http://index.example/simple/one/"))
                self.answer(number, [b"12", b"345678"], length=length)
                self.assertEqual(self.run_.wait(), 0, self.run_.err)
                self.assertEqual(self.archive(), {"./one": b"12345678"})

    def test_a_failure_leaves_its_exit_code_and_no_archive(self):
        self.begin(KEEP)
        self.answer(self.frame()[1], [b"gone"], status=203, length=4)
        self.assertEqual(self.run_.wait(), 3)
        self.assertFalse(pathlib.Path(self.folder.name, "packages.tar").exists())

    def test_an_answer_that_is_cut_off_does_not_look_whole(self):
        for length in (None, 8):
            with self.subTest(length=length):
                self.setUp()
                self.begin("try:\n    ask('GET', 'http://index.example/')\nexcept http.client.HTTPException:\n    raise SystemExit(7)\n")
                number = self.frame()[1]
                self.send(b"h", number, json.dumps({"status": 200, "type": "", "length": length}).encode())
                self.send(b"d", number, b"1234")
                self.send(b"x", number)
                self.assertEqual(self.run_.wait(), 7, self.run_.err)

    def test_nothing_but_get_reaches_the_server(self):
        self.begin("for method in ('POST', 'PUT', 'DELETE', 'CONNECT', 'HEAD', 'PATCH'):\n"
                   "    assert ask(method, 'index.example:443', **({'body': b'secret'} if method == 'POST' else {}))[0] == 501, method\n"
                   "ask('GET', 'http://index.example/last', body=b'secret')\n")
        kind, number, address = self.frame()
        self.assertEqual((kind, number, address), (b"g", 1, b"http://index.example/last"))
        self.answer(number, [])
        self.assertEqual(self.run_.wait(), 0, self.run_.err)
        self.assertEqual(self.peer.socket.recv(100), b"")


def wheel(name, version, text="", needs=()):
    content, record = io.BytesIO(), []
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(content, "w") as archive:
        for path, part in ((f"{name}.py", text), (f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {each}\n" for each in needs)),
                           (f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")):
            digest = base64.urlsafe_b64encode(hashlib.sha256(part.encode()).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(part)}")
            archive.writestr(path, part)
        archive.writestr(f"{info}/RECORD", "\n".join(record + [f"{info}/RECORD,,"]) + "\n")
    return content.getvalue()


def packed(files, links=()):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, part in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(part)
            archive.addfile(entry, io.BytesIO(part))
        for name, target in links:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return content.getvalue()


HAS_PIP = subprocess.run([embedded.PYTHON, "-I", "-c", "import pip"], stderr=subprocess.DEVNULL, check=False).returncode == 0

# Stands for npm: tells where it was started, and installs a package.
NPM = """
import json, os
home = os.path.expanduser('~')
seen = {'path': os.environ['PATH'], 'node': os.environ.get('NODE_PATH'), 'cache': sorted(os.listdir(home + '/.npm'))}
json.dump(seen, open('seen.json', 'w'))
os.makedirs('node_modules/@here/one')
open('node_modules/@here/one/package.json', 'w').write('{"version": "1.5"}')
raise SystemExit(3)
"""


class Installer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.home = pathlib.Path(self.folder.name)
        ended = subprocess.run([embedded.PYTHON, "-c", "import site; print(site.getusersitepackages())"], env={"HOME": str(self.home)},
                               capture_output=True, text=True, check=True)
        self.site = pathlib.Path(ended.stdout.strip())

    def install(self, words, archive=None, until=None, first=""):
        """`archive`: what was fetched; None: nothing is. `until`: the server's end of the channel is closed when it is true; `first`: code before that
        of the program. `self.asked`: the program asked for what is lacking."""
        with tempfile.TemporaryFile() as result:
            peer = embedded.Peer()
            self.addCleanup(peer.socket.close)
            run = embedded.Run(first + embedded.program("packages/package_installer.py"), words, {3: peer.theirs.fileno(), 4: result.fileno()},
                               {"HOME": str(self.home), "PATH": f"{self.home}/.local/bin:/usr/bin:/bin", "NODE_PATH": "x",
                                "PIP_BREAK_SYSTEM_PACKAGES": "1", "PIP_CONFIG_FILE": "/dev/null"}, self.home)
            self.addCleanup(run.end)
            peer.theirs.close()
            self.asked = peer.socket.recv(1) == b"f"
            if archive is None:
                peer.socket.close()
            elif self.asked:
                peer.socket.sendall(archive)
            if until:
                patience.until("the program has done its part", until)
                peer.socket.close()
            code = run.wait()
            result.seek(0)
            return code, json.loads(result.read() or b"null"), run

    def pip(self, *names, archive=None, first=""):
        words = "pip install --user --no-index --only-binary :all: --disable-pip-version-check --no-warn-script-location --".split()
        return self.install(words + list(names), archive, first=first)

    def test_npm_gets_the_cache_and_nothing_of_the_callers_and_its_new_packages_are_told(self):
        archive = packed({"./_cacache/a": b"1", "../evil": b"2", "/evil": b"3", "a/../../evil": b"4"}, [("_cacache/b", "/etc")])
        code, report, _ = self.install([embedded.PYTHON, "-I", "-c", NPM], archive)
        self.assertEqual((code, report), (3, {"before": {}, "after": {"npm:@here/one": "1.5"}}))
        seen = json.loads((self.home / "seen.json").read_text())
        self.assertEqual(seen, {"path": "/usr/bin:/bin", "node": None, "cache": ["_cacache"]})
        self.assertEqual(os.listdir(self.home / ".npm/_cacache"), ["a"])
        self.assertFalse((self.home / "evil").exists() or (self.home.parent / "evil").exists())

    def test_an_archive_that_is_cut_off_installs_nothing(self):
        code, report, run = self.install([embedded.PYTHON, "-I", "-c", NPM], packed({"a": bytes(3000)})[:1000], until=lambda: True)
        self.assertNotEqual(code, 0)
        self.assertIsNone(report)
        self.assertFalse((self.home / "seen.json").exists(), run.err)

    def test_an_installation_ends_with_the_server(self):
        waits = "import os, time; open('begun', 'w'); parent = os.getppid()\nwhile os.getppid() == parent: time.sleep(0.005)"
        code, report, _ = self.install([embedded.PYTHON, "-I", "-c", waits], packed({"a": b"1"}), (self.home / "begun").exists)
        self.assertEqual((code, report), (1, None))

    @unittest.skipUnless(HAS_PIP, "not tested: pip is not installed")
    def test_pip_installs_what_was_fetched_and_upgrades_what_is_there(self):
        code, report, run = self.pip("greeter", archive=packed({"./greeter-1.0-py3-none-any.whl": wheel("greeter", "1.0")}))
        self.assertEqual((code, report["after"]), (0, {"greeter": "1.0"}), run.err)
        code, report, run = self.pip("greeter>=2", archive=packed({"./greeter-2.0-py3-none-any.whl": wheel("greeter", "2.0")}))
        self.assertEqual((code, report), (0, {"before": {"greeter": "1.0"}, "after": {"greeter": "2.0"}}), run.err)
        self.assertEqual([each.name for each in self.site.glob("*.dist-info")], ["greeter-2.0.dist-info"])

    @unittest.skipUnless(HAS_PIP, "not tested: pip is not installed")
    def test_pip_is_content_with_what_is_there_and_the_program_is_silent_where_nothing_was_fetched(self):
        code, report, run = self.pip("greeter")
        self.assertEqual((self.asked, code, report, run.out, run.err), (True, 1, None, "", ""))
        needs = wheel("greeter", "1.0", needs=("helper>=2", 'absent; python_version < "3"', 'other; extra == "more"'))
        self.pip("greeter", archive=packed({"./greeter-1.0-py3-none-any.whl": needs, "./helper-2.0-py3-none-any.whl": wheel("helper", "2.0")}))
        for names in (["greeter"], ["greeter==1.0", "Helper >= 1, < 3"]):
            code, report, run = self.pip(*names)
            self.assertEqual((self.asked, code, report["after"]), (False, 0, {"greeter": "1.0", "helper": "2.0"}), run.err)
            self.assertIn("already satisfied", run.out)
        for name in ("greeter==2.0", "greeter[more]", "absent"):
            with self.subTest(name=name):
                self.pip(name)
                self.assertTrue(self.asked)
        next(self.site.glob("helper-*")).joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: helper\nVersion: 1.0\n")
        self.pip("greeter")
        self.assertTrue(self.asked)             # what it needs is not there any more

    @unittest.skipUnless(HAS_PIP, "not tested: pip is not installed")
    def test_what_the_metadata_of_the_caller_say_ends_no_installation(self):
        self.site.joinpath("loop-1.0.dist-info").mkdir(parents=True)
        for text in ("Requires-Dist: loop\nRequires-Dist: loop[a]\n", "Requires-Dist: no requirement !!\n", "Version: never\n"):
            with self.subTest(text=text):
                self.site.joinpath("loop-1.0.dist-info", "METADATA").write_text(f"Metadata-Version: 2.1\nName: loop\nVersion: 1.0\n{text}")
                _, _, run = self.pip("loop")
                self.assertNotIn("Traceback", run.err)

    @unittest.skipUnless(HAS_PIP, "not tested: pip is not installed")
    def test_packages_that_are_spread_over_folders_do_not_disturb_pip(self):
        # Debian's matplotlib names mpl_toolkits so, which is loaded when pip looks for the folders of it.
        machine = self.home / "of-the-machine"
        about = machine / "spread-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: spread\nVersion: 1.0\n")
        (about / "namespace_packages.txt").write_text("encodings\njson\n")
        code, report, run = self.pip("greeter", archive=packed({"./greeter-1.0-py3-none-any.whl": wheel("greeter", "1.0")}),
                                     first=f"import json, sys\nsys.path.append({str(machine)!r})\n")
        self.assertEqual((code, report["after"]), (0, {"greeter": "1.0"}), run.err)

    @unittest.skipUnless(HAS_PIP, "not tested: pip is not installed")
    def test_nothing_that_the_caller_planted_runs_while_pip_installs(self):
        self.site.mkdir(parents=True)
        mark = f"open({str(self.home / 'planted')!r}, 'a').write(__name__ + '\\n')\n"
        (self.site / "planted.pth").write_text("import planted_by_pth\n")
        for name in ("planted_by_pth", "sitecustomize", "usercustomize", "json", "keyring", "_manylinux", "setuptools", "truststore"):
            (self.site / f"{name}.py").write_text(mark)
        for package in ("pip", "keyring"):
            (self.site / package).mkdir()
            (self.site / package / "__init__.py").write_text(mark)
        (self.home / "json.py").write_text(mark)
        shown = subprocess.run([embedded.PYTHON, "-c", ""], env={"HOME": str(self.home)}, check=True)
        self.assertTrue((self.home / "planted").exists(), shown)       # an ordinary Python would run them
        (self.home / "planted").unlink()
        code, report, run = self.pip("greeter", archive=packed({"./greeter-1.0-py3-none-any.whl": wheel("greeter", "1.0")}))
        self.assertEqual((code, report["after"]), (0, {"greeter": "1.0"}), run.err)
        self.pip("absent")
        self.assertFalse((self.home / "planted").exists(), (self.home / "planted").read_text() if (self.home / "planted").exists() else "")


if __name__ == "__main__":
    embedded.main()
