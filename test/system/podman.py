"""A Podman of the tests' own: its API on a socket in a temporary folder, its storage there too, and an image that is made
from this machine's files, as no registry can be reached. As root; `podman` and runc or crun from the distribution."""
import atexit
import contextlib
import io
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
from pathlib import Path

from harness import expect, until

IMAGE = "localhost/cmcp-test:latest"
PROGRAMS = """bash sh cat cp ls sleep head id mktemp seq rm mkdir ln touch chmod stat grep cut tr sort env date dd wc kill
              perl""".split()


def libraries(path):
    out = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    return {word for line in out.splitlines() for word in line.split() if word.startswith("/")}


def image_files():
    """{path inside: path here}: a few programs, Python with its library and pip, and what they load."""
    files = {f"/usr/bin/{name}": os.path.realpath(shutil.which(name)) for name in PROGRAMS if shutil.which(name)}
    files["/usr/bin/python3"] = os.path.realpath("/usr/bin/python3")
    library = Path(subprocess.check_output(["/usr/bin/python3", "-c", "import os; print(os.path.dirname(os.__file__))"], text=True).strip())
    unwanted = ("test", "idlelib", "__pycache__", "turtledemo", "lib2to3", "ensurepip")
    for top in (library, Path("/usr/lib/python3/dist-packages/pip")):
        for folder, names, found in os.walk(top):
            names[:] = [name for name in names if name not in unwanted and not name.startswith("config-")]
            for name in found:
                files[os.path.join(folder, name)] = os.path.realpath(os.path.join(folder, name))
    for folder, _, found in os.walk("/usr/lib/locale/C.utf8"):
        files.update({os.path.join(folder, name): os.path.join(folder, name) for name in found})
    for path in [path for path in files.values() if os.access(path, os.X_OK) or ".so" in path]:
        files.update({library: os.path.realpath(library) for library in libraries(path)})
    return {inside: path for inside, path in files.items() if os.path.isfile(path)}


def write_image(to):
    with tarfile.open(to, "w") as archive:
        made = set()

        def folder(name, mode=0o755):
            if name in made or name in ("", "."):
                return
            folder(os.path.dirname(name))
            made.add(name)
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            archive.addfile(entry)

        for name in ("etc", "proc", "sys", "dev", "run", "usr/bin", "var"):
            folder(name)
        folder("tmp", 0o1777)
        for name, target in (("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
        passwd = b"root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"
        entry = tarfile.TarInfo("etc/passwd")
        entry.size = len(passwd)
        archive.addfile(entry, io.BytesIO(passwd))
        for inside, path in sorted(image_files().items()):
            parts = inside.lstrip("/")
            name = parts if parts.startswith("usr/") else f"usr/{parts}"
            folder(os.path.dirname(name))
            if name in made:
                continue
            made.add(name)
            entry = archive.gettarinfo(path, name)
            entry.uid = entry.gid = 0
            entry.type, entry.linkname = tarfile.REGTYPE, ""
            entry.size = os.path.getsize(path)
            with open(path, "rb") as content:
                archive.addfile(entry, content)


class Podman:
    """`socket` is where it listens. Everything goes away with the process."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="cmcp-podman-"))
        self.socket = self.folder / "podman.sock"
        self.service = None
        atexit.register(self.remove)
        runtime = "runc" if shutil.which("runc") else "crun"        # crun cannot work with hybrid cgroups
        conf = self.folder / "containers.conf"
        # Locks of its own: they are otherwise shared with every other Podman of this user.
        conf.write_text(f'[engine]\nruntime="{runtime}"\ncgroup_manager="cgroupfs"\nevents_logger="file"\nlock_type="file"\n')
        self.environment = {**os.environ, "CONTAINERS_CONF": str(conf)}
        self.driver = "overlay"
        archive = self.folder / "image.tar"
        write_image(archive)
        if self.run("import", str(archive), IMAGE, check=False).returncode:
            self.driver = "vfs"
            self.run("import", str(archive), IMAGE)
        archive.unlink()
        self.start()

    def command(self, *arguments):
        return ["podman", "--root", str(self.folder / "root"), "--runroot", str(self.folder / "run"), "--tmpdir", str(self.folder / "tmp"),
                "--storage-driver", self.driver, *arguments]

    def run(self, *arguments, check=True):
        done = subprocess.run(self.command(*arguments), env=self.environment, capture_output=True, text=True)
        expect(not check or done.returncode == 0, f"podman {' '.join(arguments)}: {done.stderr[-500:]}")
        return done

    def start(self):
        log = open(self.folder / "service.log", "ab")
        # conmon makes a file "oom" in its working folder when a container runs out of memory.
        self.service = subprocess.Popen(self.command("system", "service", "--time", "0", f"unix://{self.socket}"), env=self.environment, cwd=self.folder,
                                        stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until("Podman listens", self.socket.exists, 20)

    def stop(self):
        if self.service:
            self.service.send_signal(signal.SIGTERM)
            self.service.wait(20)
            self.service = None
        self.socket.unlink(missing_ok=True)

    def containers(self):
        """Ids of all containers, running or not."""
        return self.run("ps", "--all", "--quiet").stdout.split()

    def remove(self):
        with contextlib.suppress(Exception):
            self.run("rm", "--all", "--force", "--time", "0", check=False)
            self.stop()
        with contextlib.suppress(AssertionError):
            until("the last of Podman's own clean-ups ends", self.removed, 20)

    def removed(self):
        subprocess.run(["umount", "--recursive", str(self.folder / "root" / self.driver)], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.folder, ignore_errors=True)
        return not self.folder.exists()


def missing():
    """Why there can be no Podman here; None when there can."""
    if os.geteuid():
        return "not as root"
    return None if shutil.which("podman") and (shutil.which("runc") or shutil.which("crun")) else "podman is not installed"
