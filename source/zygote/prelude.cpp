#include "prelude.hpp"

namespace cmcp::sandbox {

// wait, at_exit and finish do what a run can notice of Py_FinalizeEx, in its order: threads, atexit, flush, the end of the
// run's own objects. Tearing down the modules that were there before costs many times what a short run takes, and nobody
// sees it. Where other threads still live, or a stream cannot be flushed, the whole of it is done: finish() is then False.
const std::string_view prelude = R"PY(
import atexit, gc, importlib, io, os, shutil, signal, sys, tempfile, threading

wait = threading._shutdown
at_exit = atexit._run_exitfuncs

def load(names):
    if 'matplotlib' not in ' '.join(names):
        return [name for name in names if not loads(name)]
    # What modules write when they are loaded (caches of fonts) goes to a folder of our own, not to the machine's /tmp.
    folder = tempfile.mkdtemp(prefix='container-mcp-zygote-')
    configured = os.environ.get('MPLCONFIGDIR')
    os.environ['MPLCONFIGDIR'] = folder
    try:
        return [name for name in names if not loads(name)]
    finally:
        if configured is None:
            del os.environ['MPLCONFIGDIR']
        else:
            os.environ['MPLCONFIGDIR'] = configured
        shutil.rmtree(folder, ignore_errors=True)
        tempfile.tempdir = tempfile._name_sequence = None

def loads(name):
    try:
        importlib.import_module(name)
        return True
    except Exception:
        return False

# The functions that remember the folder of load(); older versions have a cache of their own that nobody can clear.
def forget_folders(matplotlib):
    for name in ('get_configdir', 'get_cachedir'):
        function = getattr(matplotlib, name)
        if hasattr(function, 'cache_clear'):
            function.cache_clear()
        elif hasattr(function, '__wrapped__') and hasattr(matplotlib, '_logged_cached'):
            setattr(matplotlib, name, matplotlib._logged_cached(name + '=%s', function.__wrapped__))

def settle(main):
    global kept, known, last_known
    matplotlib = sys.modules.get('matplotlib')
    if matplotlib:
        forget_folders(matplotlib)
        sys.modules['matplotlib.font_manager']._get_font.cache_clear()   # it keeps font files open
    kept = [(stream.encoding, stream.errors) for stream in (sys.stdin, sys.stdout, sys.stderr)]
    sys.stdin = sys.stdout = sys.stderr = sys.__stdin__ = sys.__stdout__ = sys.__stderr__ = None
    known, last_known = frozenset(sys.modules), next(reversed(sys.modules))
    streams()
    for _ in range(40):
        warm()
        clear({'_a': 1, 'b': 2})
        flushed()
    main.pop('practise', list)()
    gc.collect()
    gc.freeze()

def opened(fd, name, reads, encoding, errors):
    raw = io.open(fd, 'rb' if reads else 'wb', -1, closefd=False)
    (raw if not hasattr(raw, 'raw') else raw.raw).name = name
    made = io.TextIOWrapper(raw, encoding, errors, '\n', line_buffering=fd == 2 or raw.raw.isatty())
    made.mode = 'r' if reads else 'w'
    return made

def stream(fd, name, reads):
    try:
        os.fstat(fd)
    except OSError:
        return None
    return opened(fd, name, reads, *kept[fd])

def streams():
    sys.stdin = sys.__stdin__ = stream(0, '<stdin>', True)
    sys.stdout = sys.__stdout__ = stream(1, '<stdout>', False)
    sys.stderr = sys.__stderr__ = stream(2, '<stderr>', False)

def warm():
    exec(compile('import json\ndef f(n):\n    return [str(i * 2) for i in range(n)]\nx = json.dumps({"a": f(9)})\n'
                 'class A:\n    pass\n', '<warm>', 'exec'), {})

def fresh():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = sys.modules.get('multiprocessing.process')
    if process:
        process.current_process().authkey = os.urandom(32)
    numpy = sys.modules.get('numpy')
    if numpy:
        numpy.random.seed()
    streams()
    warm()

def flushed():
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not getattr(stream, 'closed', False):
                stream.flush()
        return True
    except BaseException:
        return False

def clear(names):
    for name in [name for name in names if name[:1] == '_' and name[1:2] != '_']:
        names[name] = None
    for name in [name for name in names if name != '__builtins__']:
        names[name] = None

# Looking at the names of all modules would write to all of them (their reference counts), and so copy their pages.
def later_modules():
    names = []
    for name in reversed(sys.modules):
        if name == last_known:
            break
        names.append(name)
    return names

def finish():
    if len(sys._current_frames()) > 1 or not flushed():
        return False
    # From here on Python's own end gives objects the original streams and no imports, and at last no streams.
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
    sys.path = sys.argv = sys.path_hooks = sys.path_importer_cache = sys.meta_path = None
    own = [sys.modules[name] for name in later_modules() if name not in known] + [sys.modules.get('__main__')]
    for module in own:
        names = getattr(module, '__dict__', None)
        if type(names) is dict:
            clear(names)
    del own
    flushed()
    sys.stdin = sys.stdout = sys.stderr = None
    gc.collect()
    return True
)PY";

}  // namespace cmcp::sandbox
