# What scripts and kernels have in common: values as JSON, exit values, streams. It stands before their programs.
import builtins, io, json, os, sys, types

# Code may replace what these modules and builtins have (a test that mocks os.write, a variable print of builtins). Our
# programs go on with what there was before.
def own_copy_of(module):
    made = types.ModuleType(module.__name__)
    made.__dict__.update(module.__dict__, _cmcp_copy_of=module)
    return made

json, os = own_copy_of(json), own_copy_of(os)
globals().update((name, value) for name, value in vars(builtins).items() if name[:1] != '_')

most_json, most_repr = 1000000, 100000
as_json = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode

def json_bytes(value):
    """JSON that every reader takes. A lone surrogate, as names of files have it, is no character: its escape stands as text."""
    text = as_json(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return ''.join('\\\\u%04x' % ord(each) if '\ud800' <= each <= '\udfff' else each for each in text).encode()

def cut(text, most):
    return text if len(text) <= most else '%s... (%d more characters)' % (text[:most], len(text) - most)

def safe_repr(value):
    try:
        return cut(str.__str__(repr(value)), most_repr)
    except Exception as problem:
        return '<%s object, its repr() raised %s>' % (type(value).__name__, type(problem).__name__)

def is_text(value):
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False

def stays_equal(value):
    """Whether JSON gives the value back: the same types, the same numbers, all members."""
    todo, seen = [(value, 0)], 0
    while todo:
        item, depth = todo.pop()
        kind, seen = type(item), seen + 1
        if depth > 60 or seen > 500000:
            return False
        if kind is list:
            todo.extend((part, depth + 1) for part in item)
        elif kind is dict:
            if not all(type(key) is str and is_text(key) for key in item):
                return False
            todo.extend((part, depth + 1) for part in item.values())
        elif kind is int:
            if not -2**63 <= item < 2**64:
                return False
        elif kind is float:
            if item - item != 0:                # infinite, or not a number
                return False
        elif kind is str:
            if not is_text(item):
                return False
        elif kind is not bool and item is not None:
            return False
    return True

def value_and_form(value):
    """What stands for the value in JSON, and whether that is its repr(): where JSON would not give the value back."""
    try:
        if stays_equal(value) and len(json_bytes(value)) <= most_json:
            return value, False
    except Exception:
        pass
    return safe_repr(value), True

def exit_value(code):
    """The exit value of SystemExit, as Python and the system make it."""
    if code is None:
        return 0
    if isinstance(code, int):
        code = int.__index__(code)
        return code & 0xff if -2**63 <= code < 2**63 else 0xff
    try:
        text = str(code)
    except Exception as problem:
        text = '<%s object, its str() raised %s>' % (type(code).__name__, type(problem).__name__)
    print_error(text + '\n')
    return 1

def print_error(text):
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except Exception:                           # it is None, or closed
        data = text.encode('utf-8', 'backslashreplace')
        while data:
            data = data[os.write(2, data):]

# Bytes go out at once too, so that nothing is lost when the program is killed; in kernels with the end of their line, because
# print() writes that by itself.
class Unbuffered(io.BufferedWriter):
    waits_for_line = False

    def write(self, data):
        count = super().write(data)
        if not self.waits_for_line or b'\n' in bytes(data):
            self.flush()
        return count

def raw_of(stream):
    buffer = stream.detach()
    return Unbuffered(buffer.detach()) if type(buffer) is io.BufferedWriter else buffer

# Calls `action` with a module once that is imported.
class ModuleHooks:
    def __init__(self, actions):
        self.actions = actions

    def find_spec(self, name, path=None, target=None):
        action = self.actions.pop(name, None)
        if action is None:
            return None
        import importlib.util
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None or not hasattr(spec.loader, 'exec_module'):
            return spec
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            action(module)

        spec.loader.exec_module = exec_module
        return spec

def when_imported(actions):
    for name in [name for name in actions if name in sys.modules]:
        actions.pop(name)(sys.modules[name])
    hooks = ModuleHooks(actions)
    sys.meta_path.insert(0, hooks)
    return hooks
