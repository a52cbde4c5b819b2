# The caller's code gets a module of its own as __main__, so that none of the names below are in its way, and
# everything that looks __main__ up (pickle, multiprocessing, typing) finds the caller's functions.
# Output goes out at once, so that it is seen while the code runs and nothing is lost when it is killed. print() is
# replaced because the original writes a line in two pieces: threads and processes would tear each other's lines.
# The workspace comes last on the path: a file named json.py must not stand in for the standard library.
# A forked child that falls off the end of the caller's code must not report a result of its own.
import _thread, linecache

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
    made = Output(raw_of(stream), encoding='utf-8', errors='backslashreplace', line_buffering=True)
    made.mode = 'w'
    return made

# {"value": …}, or {"repr": …} where JSON would not give the value back.
def encoded(value):
    form, is_repr = value_and_form(value)
    return json_bytes({'repr' if is_repr else 'value': form})

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
    print_error(''.join(traceback.format_exception(type(problem), problem, trace)))

def run(module, source):
    try:
        exec(compile(source, '<code>', 'exec', dont_inherit=True), module.__dict__)
        return 0
    except SystemExit as problem:
        return exit_value(getattr(problem, 'code', None))
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
    # The parser knows no other line ends, and traceback sets its marks by the last one.
    lines = [line + '\n' for line in text.split('\n')]
    linecache.cache['<code>'] = linecache.cache[main_path] = (len(text), None, lines, '<code>')
    return text

# The code stands in no file of the working folder; workers that are started anew run it from one that goes with the run.
def file_for_workers(path):
    global worker_file
    if path != main_path:
        return path
    if worker_file is None:
        import atexit, tempfile
        descriptor, worker_file = tempfile.mkstemp('.py', 'code-')
        with open(descriptor, 'w', encoding='utf-8') as file:
            file.write(''.join(linecache.cache[main_path][2]))
        atexit.register(remove_file, worker_file, os.getpid())
    return worker_file

# Workers that are started anew (spawn, forkserver) run the main module again, from a file.
def patch_spawn(spawn, main_file):
    plain = spawn.get_preparation_data

    def get_preparation_data(*values, **options):
        made = plain(*values, **options)
        if 'init_main_from_path' in made:
            made['init_main_from_path'] = main_file(made['init_main_from_path'])
        return made

    spawn.get_preparation_data = get_preparation_data

def remove_file(name, made_by):
    if os.getpid() == made_by:
        os.unlink(name)

def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass

# For a clone of a loaded interpreter to be as quick as one that has run for a while: code that was executed before is
# specialized already, and what it writes to is not shared any more.
def practise():
    saved = sys.stdout
    for _ in range(40):
        sys.stdout = wrapped(open(os.devnull, 'w'), '<stdout>')
        module = types.ModuleType('__main__')
        module.__builtins__ = __builtins__
        run(module, 'import json, os\ndef f(n):\n    return [str(i) for i in range(n)]\nprint(f(3), 1)\n_ = {"a": f(2)}\n')
        encoded(module.__dict__['_'])
        flush()
    sys.stdout = saved

# A run begins.

owner = os.getpid()
os.environ.setdefault('PYTHONUNBUFFERED', '1')   # of programs that the code starts, which may be ended before they flush
_thread.stack_size(1 << 20)                      # counts against the limit of memory with its whole size
try:
    os.set_inheritable(4, False)
except OSError:
    pass
sys.stdout = sys.__stdout__ = wrapped(sys.stdout, '<stdout>')
sys.stderr = sys.__stderr__ = wrapped(sys.stderr, '<stderr>')
for folder in (os.getcwd(), sys.argv[1], '/run/container-mcp/python'):
    if folder not in sys.path:
        sys.path.append(folder)
# As of a script in the working folder, where code looks for its files.
main_path, worker_file = os.path.join(os.getcwd(), '__main__.py'), None
when_imported({'multiprocessing.spawn': lambda spawn: patch_spawn(spawn, file_for_workers), 'webbrowser': patch_webbrowser,
               **(hooks_of_figures(save_shown) if 'figures' in sys.argv[2:] else {})})
sys.argv = [main_path]
own = sys.modules['__main__']
module = sys.modules['__main__'] = types.ModuleType('__main__')
if '__mp_main__' in sys.modules:            # the main module under the name that workers give it
    sys.modules['__mp_main__'] = module
module.__builtins__, module.__file__ = __builtins__, main_path
status = run(module, read_source())
report(module.__dict__)
flush()
sys.exit(status)
