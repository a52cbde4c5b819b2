"""The Python programs that the build embeds, started by the machine's Python as runs start them: input and output on descriptors."""
import json
import os
import pathlib
import select
import socket
import struct
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "source"
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"
PATIENCE = 120      # for failures alone


def program(*names):
    """The texts of `names`, each as folder/file of whichever district has the folder."""
    return "".join(next(SOURCE.glob(f"*/{name}")).read_text(encoding="utf-8") for name in names)


class Run:
    """A process with files as its output and `descriptors` ({number: descriptor of ours}) under the numbers that it knows."""

    def __init__(self, text, arguments=(), descriptors=None, environment=None, folder=None):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        actions = [(os.POSIX_SPAWN_OPEN, number, str(self.path / name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                   for number, name in ((1, "out"), (2, "err"))]
        actions.insert(0, (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0))
        # First out of the way of the numbers that are wanted.
        kept = {number: os.dup2(mine, 100 + number) for number, mine in (descriptors or {}).items()}
        actions += [(os.POSIX_SPAWN_DUP2, mine, number) for number, mine in kept.items()]
        here = os.getcwd()
        os.chdir(folder or self.path)
        try:
            self.pid = os.posix_spawnp(PYTHON, [PYTHON, "-I", "-c", text, *map(str, arguments)],
                                       {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **(environment or {})}, file_actions=actions)
        finally:
            os.chdir(here)
        for mine in kept.values():
            os.close(mine)
        self.status = None

    def wait(self):
        if self.status is None:
            process = os.pidfd_open(self.pid)
            ended = select.select([process], [], [], PATIENCE)[0]
            os.close(process)
            if not ended:
                raise AssertionError(f"the program did not end: {self.err}")
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status

    def end(self):
        if self.status is None:
            os.kill(self.pid, 9)
            self.wait()
        self.folder.cleanup()

    @property
    def out(self):
        return (self.path / "out").read_text(encoding="utf-8")

    @property
    def err(self):
        return (self.path / "err").read_text(encoding="utf-8")


CLONES = """
import os, socket, sys
wanted, text = socket.socket(fileno=3), sys.argv[1]
for name in sys.argv[2:]:
    try:
        __import__(name)
    except ImportError:
        pass    # what the program says then is a test's subject
code = compile(text, "<string>", "exec")
while True:
    message, streams, _, _ = socket.recv_fds(wanted, 1, 3)
    if not message:
        break
    child = os.fork()
    if child == 0:
        wanted.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        try:
            exec(code, {"__name__": "__main__", "__builtins__": __builtins__})
        except SystemExit as end:
            status = end.code or 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
            status = 1
        else:
            status = 0
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    for stream in streams:
        os.close(stream)
    wanted.send(bytes([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255]))
"""


class Clones:
    """Runs of one program by clones of an interpreter that has imported `modules`, which takes longer than most runs."""

    def __init__(self, text, *modules):
        self.wanted, theirs = socket.socketpair()
        self.wanted.settimeout(PATIENCE)
        self.interpreter = os.posix_spawnp(PYTHON, [PYTHON, "-I", "-c", CLONES, text, *modules], os.environ,
                                           file_actions=[(os.POSIX_SPAWN_DUP2, os.dup2(theirs.fileno(), 100), 3)])
        os.close(100)
        theirs.close()

    def run(self, given):
        """What the program prints and says of errors, and its exit code."""
        files = [tempfile.TemporaryFile() for _ in range(3)]
        files[0].write(given)
        files[0].seek(0)
        socket.send_fds(self.wanted, [b"x"], [file.fileno() for file in files])
        status = self.wanted.recv(1)[0]
        for file in files:
            file.seek(0)
        texts = [file.read() for file in files]
        for file in files:
            file.close()
        return texts[1], texts[2], status

    def end(self):
        self.wanted.close()
        os.waitpid(self.interpreter, 0)


class Peer:
    """Our end of a program's socket."""

    def __init__(self):
        self.socket, self.theirs = socket.socketpair()
        self.socket.settimeout(PATIENCE)

    def exactly(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise EOFError("the program closed its socket")
            data += piece
        return data


class Kernel(Peer):
    """A kernel: messages are JSON behind four bytes of length, the first bit of which marks a piece of state."""

    def __init__(self, folder=None):
        super().__init__()
        self.number, self.printed = 0, 0
        later = {"kernel_magics": program("kernels/kernel_magics.py", "kernels/kernel_shell.py"),
                 "kernel_notebook": program("kernels/kernel_notebook.py", "kernels/kernel_asking.py", "kernels/kernel_history.py",
                                            "kernels/kernel_inspection.py"),
                 "kernel_interrupts": program("kernels/kernel_interrupts.py"),
                 "kernel_orders": program("kernels/kernel_orders.py"),
                 "kernel_loop": program("kernels/kernel_loop.py"),
                 "kernel_workers": program("kernels/kernel_workers.py"),
                 "kernel_figures": program("jail/python_figures.py", "kernels/kernel_figures.py"),
                 "kernel_forms": program("kernels/kernel_forms.py"),
                 "kernel_data": program("kernels/kernel_data.py"),
                 "kernel_stand_in": program("kernels/kernel_stand_in.py"),
                 "kernel_recall": program("kernels/kernel_state_common.py", "kernels/kernel_state_take.py",
                                          "kernels/kernel_state_recall.py")}
        driver = program("jail/python_common.py", "kernels/kernel_display.py", "kernels/kernel_code.py", "kernels/kernel_driver.py")
        self.folder = tempfile.TemporaryDirectory()
        folder = folder or self.folder.name
        self.run = Run(driver, [folder, ".kernel"], {3: self.theirs.fileno()}, folder=folder)
        self.theirs.close()
        self.send(op="programs", programs=later)

    def send(self, **message):
        data = json.dumps(message).encode()
        self.socket.sendall(struct.pack(">I", len(data)) + data)

    def begin(self, **message):
        self.number += 1
        self.send(id=self.number, mark=f"<{self.number}>", **message)

    def piece(self):
        size, = struct.unpack(">I", self.exactly(4))
        return bool(size >> 31), self.exactly(size & 0x7fffffff)

    def late_event(self):
        size, = struct.unpack(">I", self.exactly(4))
        if not size >> 30 & 1:
            raise AssertionError("another message instead of one that answers no call")
        message = json.loads(self.exactly(size & 0x3fffffff))
        return message["event"], message["content"]

    def message(self):
        of_state, data = self.piece()
        if of_state:
            raise AssertionError("state instead of an answer")
        message = json.loads(data)
        if message.pop("id") != self.number:
            raise AssertionError("an answer to another message")
        return message

    def answer(self):
        answer = self.message()
        self.used = answer.pop("cpu_us", 0), answer.pop("peak_bytes", 0)
        return answer

    def execute(self, code):
        self.begin(op="run", code=code)
        return self.answer()

    def cell(self, code, interrupted=False, **options):
        """Events of a notebook's cell and its answer."""
        self.begin(op="run", code=code, notebook=options)
        if interrupted:
            self.send(op="interrupt")
        return self.events_and_answer()

    def events_and_answer(self):
        events = []
        while "event" in (message := self.answer()):
            events.append((message["event"], message["content"]))
        return events, message

    def look(self, question, **content):
        self.begin(op="look", question=question, content=content)
        return self.answer()["state"]

    def errors(self):
        return self.output(self.run.err)

    def output(self, text=None):
        """What the latest code has printed, up to its mark."""
        mark, text = f"<{self.number}>", self.run.out if text is None else text
        begin = text.find(f"<{self.number - 1}>")
        return text[0 if begin < 0 else begin + len(f"<{self.number - 1}>"):text.index(mark)]

    def end(self):
        self.socket.close()
        self.run.end()
        self.folder.cleanup()


def main():
    unittest.main(verbosity=1)
