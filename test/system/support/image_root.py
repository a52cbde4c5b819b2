"""A root folder for an image, made from this machine's files, as no registry can be reached."""
import os
import shutil
import subprocess
from pathlib import Path

PROGRAMS = """bash sh cat cp ls sleep head id mktemp seq rm mkdir ln touch chmod stat grep cut tr sort env date dd wc kill
              nohup perl""".split()


def libraries(path):
    out = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    return {word for line in out.splitlines() for word in line.split() if word.startswith("/")}


def files_of_python():
    library = Path(subprocess.check_output(["/usr/bin/python3", "-c", "import os; print(os.path.dirname(os.__file__))"], text=True).strip())
    unwanted = ("test", "idlelib", "__pycache__", "turtledemo", "lib2to3", "ensurepip")
    files = {"/usr/bin/python3": os.path.realpath("/usr/bin/python3")}
    for top in (library, Path("/usr/lib/python3/dist-packages/pip")):
        for folder, names, found in os.walk(top):
            names[:] = [name for name in names if name not in unwanted and not name.startswith("config-")]
            files.update({os.path.join(folder, name): os.path.realpath(os.path.join(folder, name)) for name in found})
    return files


def image_files():
    """{path inside: path here}: a few programs, Python with its library and pip, and what they load."""
    files = {f"/usr/bin/{name}": os.path.realpath(shutil.which(name)) for name in PROGRAMS if shutil.which(name)}
    files.update(files_of_python())
    for folder, _, found in os.walk("/usr/lib/locale/C.utf8"):
        files.update({os.path.join(folder, name): os.path.join(folder, name) for name in found})
    for path in [path for path in files.values() if os.access(path, os.X_OK) or ".so" in path]:
        files.update({library: os.path.realpath(library) for library in libraries(path)})
    return {inside: path for inside, path in files.items() if os.path.isfile(path)}


def make_root(root):
    for name in ("etc", "run", "usr/bin", "usr/lib", "usr/lib64", "var"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, target in (("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")):
        (root / name).symlink_to(target)
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n", encoding="ascii")
    for inside, path in sorted(image_files().items()):
        parts = inside.lstrip("/")
        copy_at = root / (parts if parts.startswith("usr/") else f"usr/{parts}")
        copy_at.parent.mkdir(parents=True, exist_ok=True)
        if not copy_at.exists():
            shutil.copy(path, copy_at)
    return root
