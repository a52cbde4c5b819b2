# The caller's code gets a module of its own as __main__, so that none of the names below are in its way, and
# everything that looks __main__ up (pickle, multiprocessing, typing) finds the caller's functions.
# Output goes out at once, so that it is seen while the code runs and nothing is lost when it is killed. print() is
# replaced because the original writes a line in two pieces: threads and processes would tear each other's lines.
# The workspace comes last on the path: a file named json.py must not stand in for the standard library.
# A forked child that falls off the end of the caller's code must not report a result of its own.
import builtins, io, os, sys, types, linecache

class Output(io.TextIOWrapper):
    whole = False
    def write(self, text):
        count = io.TextIOWrapper.write(self, text)
        if not self.whole and '\n' not in text:
            self.flush()
        return count

plain_print = print

def print(*values, sep=' ', end='\n', file=None, flush=False):
    target = sys.stdout if file is None else file
    if not isinstance(target, Output):
        return plain_print(*values, sep=sep, end=end, file=file, flush=flush)
    target.whole = True
    try:
        plain_print(*values, sep=sep, end=end, file=target, flush=flush or isinstance(end, str) and '\n' not in end)
    finally:
        target.whole = False

print.__module__ = 'builtins'
print.__doc__ = plain_print.__doc__
builtins.print = print

def wrapped(stream, name):
    if stream is None:
        return None
    made = Output(stream.detach(), encoding='utf-8', errors='backslashreplace', line_buffering=True)
    made.mode = 'w'
    return made

def has_json_form(value):
    todo, seen = [(value, 0)], 0
    while todo:
        item, depth = todo.pop()
        seen += 1
        if depth > 60 or seen > 500000:
            return False
        if isinstance(item, int) and not -2**63 <= item < 2**64:
            return False
        if isinstance(item, dict):
            todo.extend((part, depth + 1) for part in item.values())
        elif isinstance(item, (list, tuple)):
            todo.extend((part, depth + 1) for part in item)
    return True

def cut(text, most):
    return text if len(text) <= most else '%s... (%d more characters)' % (text[:most], len(text) - most)

def shown(value):
    try:
        return cut(repr(value), 100000)
    except BaseException as problem:
        return '<%s object, its repr() raised %s>' % (type(value).__name__, type(problem).__name__)

def encoded(value):
    import json
    try:
        if has_json_form(value):
            data = json.dumps(value, allow_nan=False, ensure_ascii=False).encode('utf-8')
            if len(data) <= 1000000:
                return data
    except BaseException:
        pass
    return json.dumps(shown(value)).encode('ascii')

def report(names):
    if '_' not in names or os.getpid() != owner:
        return
    try:
        data = encoded(names['_'])
        while data:
            data = data[os.write(4, data):]
    except BaseException:
        pass

def show(problem):
    trace = problem.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != '<code>':
        trace = trace.tb_next
    if sys.excepthook is not sys.__excepthook__:
        return sys.excepthook(type(problem), problem, trace)
    import traceback
    if sys.stderr is not None:
        traceback.print_exception(type(problem), problem, trace, file=sys.stderr)

def exit_status(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    try:
        print(code, file=sys.stderr)
    except BaseException:
        pass
    return 1

def run(module, source):
    try:
        exec(compile(source, '<code>', 'exec', dont_inherit=True), module.__dict__)
        return 0
    except SystemExit as problem:
        return exit_status(problem.code)
    except BaseException as problem:
        try:
            show(problem)
        except BaseException:
            pass
        return 130 if isinstance(problem, KeyboardInterrupt) else 1

def read_source():
    with open(3, 'rb') as file:
        data = file.read()
    text = data.decode('utf-8', 'replace')
    linecache.cache['<code>'] = (len(text), None, text.splitlines(True), '<code>')
    return text

def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass

# For a clone of a loaded interpreter to be as quick as one that has run for a while: code that was executed before is
# specialized already, and what it writes to is not shared any more.
def practise():
    kept = sys.stdout
    for _ in range(40):
        sys.stdout = wrapped(open(os.devnull, 'w'), '<stdout>')
        module = types.ModuleType('__main__')
        module.__builtins__ = __builtins__
        run(module, 'import json, os\ndef f(n):\n    return [str(i) for i in range(n)]\nprint(f(3), 1)\n_ = {"a": f(2)}\n')
        encoded(module.__dict__['_'])
        flush()
    sys.stdout = kept

# A run begins.

owner = os.getpid()
try:
    os.set_inheritable(4, False)
except OSError:
    pass
sys.stdout = sys.__stdout__ = wrapped(sys.stdout, '<stdout>')
sys.stderr = sys.__stderr__ = wrapped(sys.stderr, '<stderr>')
for folder in (os.getcwd(), sys.argv[1], '/run/container-mcp/python'):
    if folder not in sys.path:
        sys.path.append(folder)
if 'figures' in sys.argv[2:]:
    _install_figures()
sys.argv = ['']
own = sys.modules['__main__']
module = sys.modules['__main__'] = types.ModuleType('__main__')
module.__builtins__ = __builtins__
status = run(module, read_source())
report(module.__dict__)
flush()
sys.exit(status)
