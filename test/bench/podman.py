"""A Podman of the benchmark's own, to compare with: its storage in a temporary folder, and an image that is made from this
machine's files. As root; `podman` and runc or crun from the distribution."""
import atexit
import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import expect, until
from image_root import make_root

IMAGE = "localhost/cmcp-test:latest"


class Podman:
    """Everything goes away with the process."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="cmcp-podman-"))
        atexit.register(self.remove)
        runtime = "runc" if shutil.which("runc") else "crun"        # crun cannot work with hybrid cgroups
        conf = self.folder / "containers.conf"
        # Locks of its own: they are otherwise shared with every other Podman of this user.
        conf.write_text(f'[engine]\nruntime="{runtime}"\ncgroup_manager="cgroupfs"\nevents_logger="file"\nlock_type="file"\n')
        self.environment = {**os.environ, "CONTAINERS_CONF": str(conf)}
        self.driver = "overlay"
        archive = self.folder / "image.tar"
        subprocess.run(["tar", "-C", make_root(self.folder / "image"), "-cf", archive, "."], check=True)
        if self.run("import", str(archive), IMAGE, check=False).returncode:
            self.driver = "vfs"
            self.run("import", str(archive), IMAGE)
        archive.unlink()

    def command(self, *arguments):
        return ["podman", "--root", str(self.folder / "root"), "--runroot", str(self.folder / "run"), "--tmpdir", str(self.folder / "tmp"),
                "--storage-driver", self.driver, *arguments]

    def run(self, *arguments, check=True):
        done = subprocess.run(self.command(*arguments), env=self.environment, capture_output=True, text=True)
        expect(not check or done.returncode == 0, f"podman {' '.join(arguments)}: {done.stderr[-500:]}")
        return done

    def remove(self):
        with contextlib.suppress(Exception):
            self.run("rm", "--all", "--force", "--time", "0", check=False)
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
