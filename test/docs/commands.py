"""Commands that a test cannot run are read: their programs are in the tree, and each knows the flags that it is given."""
import functools
import os
import re
import shlex
import subprocess

from pages import PROJECT

OURS = ("container-mcp", "container-mcp-load")
OWN_HELP = (("run",), ("image", "add"), ("connect",), ("backup",), ("restore",), ("key", "create"), ("audit", "verify"), ("audit", "export"), ("audit", "tail"), ("exec",), ("cp",), ("logs",), ("call",), ("sandboxes",))
FOLDERS = re.compile(r"(?:\./)?((?:(?:scripts|test|container|docs|source|cmake)/[\w./-]*[\w-])|tools/\w+\.[ch]pp)/?$")


@functools.cache
def help_of(program, *words):
    ended = subprocess.run([program, *words, "--help"], capture_output=True, text=True, cwd=PROJECT, stdin=subprocess.DEVNULL)
    return ended.stdout if ended.returncode == 0 else ""


def simple_commands(text):
    """Each command's words, without redirections, assignments and comments."""
    for line in re.sub(r"\\\n", " ", text).splitlines():
        words = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="();<>|&")
        words.whitespace_split = True
        command = []
        for word in [*words, ";"]:
            if set(word) <= set("();|&"):
                if command:
                    yield command
                command = []
            elif set(word) <= set("<>") or (not command and (re.match(r"\w+=", word) or word == "sudo")):
                continue
            else:
                command.append(word)


def help_for(program, build):
    """The help text that lists the program's flags; None for programs that are not the project's."""
    name = program.rpartition("/")[2]
    if name in OURS:
        return help_of(str(build / name)) + ("".join(help_of(str(build / name), *words) for words in OWN_HELP) if name == OURS[0] else "")
    if not FOLDERS.match(program) or "/" not in program:
        return None
    if not os.access(PROJECT / program, os.X_OK):
        return None
    own = help_of(str(PROJECT / program))
    passed_on = "".join(help_of(str((PROJECT / program).parent / other)) for other in re.findall(r"(\w[\w.-]*) FLAG…", own))
    return own + (help_of(str(build / "container-mcp")) if name == "run" else passed_on)


def unknown_flags(words, text):
    flags = words[:words.index("--")] if "--" in words else words
    for flag in flags:
        name = flag.partition("=")[0]
        if re.match(r"--?[a-z]", flag) and not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
            yield flag


def wrong_paths(words):
    for word in words:
        match = FOLDERS.match(word)
        if match and not (PROJECT / match[1]).exists():
            yield word


def wrong_targets(words):
    if words[0] != "cmake" or "--target" not in words:
        return
    files = "".join(path.read_text(encoding="utf-8") for path in [PROJECT / "CMakeLists.txt", *(PROJECT / "cmake").glob("*.cmake")])
    for target in words[words.index("--target") + 1:]:
        if not re.search(rf"add_custom_target\({re.escape(target)}[\s)]", files):
            yield target


def problems(text, build):
    for words in simple_commands(text):
        shown = " ".join(words)
        yield from (f"{shown}: there is no {path}" for path in wrong_paths(words))
        yield from (f"{shown}: CMake has no target {target}" for target in wrong_targets(words))
        text = help_for(words[0], build)
        if text is not None:
            yield from (f"{shown}: {words[0]} --help does not know {flag}" for flag in unknown_flags(words[1:], text))
        if words[0].rpartition("/")[2] == "container-mcp" and words[1:] and words[1].isalpha():
            if not re.search(rf"(?m)^  {words[1]} ", text):
                yield f"{shown}: there is no command {words[1]}"
