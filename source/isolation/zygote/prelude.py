# wait, at_exit and finish do what a run can notice of Py_FinalizeEx, in its order: threads, atexit, flush, the end of the
# run's own objects. Tearing down the modules that were there before costs many times what a short run takes, and nobody
# sees it. Where other threads still live, or a stream cannot be flushed, the whole of it is done: finish() is then False.
import _signal, atexit, gc, importlib, io, os, shutil, signal, site, sys, sysconfig, tempfile, threading

wait = threading._shutdown
at_exit = atexit._run_exitfuncs

own_packages = False   # those of the user whom the run is count
concerned = {}         # package to the loaded ones that would be others if a run had it

# Notes what modules look for when they are loaded, and do not find.
class Absent:
    def find_spec(self, name, path=None, target=None):
        frame = sys._getframe(1)
        while frame and frame.f_globals.get('__name__', '').startswith('importlib'):
            frame = frame.f_back
        seeker = frame and frame.f_globals.get('__name__')
        if seeker:
            concerned.setdefault(package_of(name), set()).add(package_of(seeker))

def package_of(name):
    return name.partition('.')[0]

standard_library = '''
    argparse array ast asyncio base64 bisect calendar cmath codecs collections collections.abc concurrent.futures
    concurrent.futures.process concurrent.futures.thread configparser contextlib contextvars copy csv ctypes
    dataclasses datetime decimal difflib enum fnmatch fractions functools getpass glob gzip hashlib heapq hmac html
    html.parser http.client importlib.util inspect io ipaddress itertools json keyword linecache locale logging lzma
    bz2 math multiprocessing multiprocessing.pool numbers operator os pathlib pickle platform pprint queue random re
    secrets select selectors shlex shutil signal socket sqlite3 ssl stat statistics string struct subprocess sys
    sysconfig tarfile tempfile textwrap threading time timeit tokenize traceback types typing unicodedata unittest
    urllib.parse urllib.request uuid warnings weakref xml.etree.ElementTree zipfile zlib zoneinfo
'''.split()
# web_scrape reads pages with these modules, which take longer to load than most pages.
page_readers = 'bs4 lxml.etree soupsieve'.split()
data_libraries = '''
    numpy numpy.random numpy.linalg numpy.fft pandas matplotlib matplotlib.pyplot matplotlib.backends.backend_agg
'''.split()

# Loads the modules of a profile; returns their number and those that are not installed, which are left out.
def load(profile):
    names = standard_library + page_readers + (data_libraries if profile == 'data' else [])
    listener = Absent()
    sys.meta_path.append(listener)
    try:
        return len(names), load_all(names)
    finally:
        sys.meta_path.remove(listener)

def load_all(names):
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

# Where the user's own packages go on sys.path, and which packages are loaded that are not Python's own. Those without compiled
# modules can be loaded anew.
def look_at_site():
    global site_begins, renewable
    folders = [folder for folder in sys.path if folder in site.getsitepackages()]
    site_begins = sys.path.index(folders[0]) if folders else len(sys.path)
    compiled, loaded = set(), set()
    for name, module in sys.modules.items():
        file = getattr(module, '__file__', None) or ''
        if file.startswith(tuple(folder + '/' for folder in folders)):
            (loaded if file.endswith('.py') else compiled).add(package_of(name))
    for package in loaded | compiled:
        concerned.setdefault(package, set()).add(package)
    renewable = loaded - compiled

def settle(main):
    global stream_encodings, known, last_known
    look_at_site()
    matplotlib = sys.modules.get('matplotlib')
    if matplotlib:
        forget_folders(matplotlib)
        sys.modules['matplotlib.font_manager']._get_font.cache_clear()   # it keeps font files open
    stream_encodings = [(stream.encoding, stream.errors) for stream in (sys.stdin, sys.stdout, sys.stderr)]
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
    return opened(fd, name, reads, *stream_encodings[fd])

def streams():
    sys.stdin = sys.__stdin__ = stream(0, '<stdin>', True)
    sys.stdout = sys.__stdout__ = stream(1, '<stdout>', False)
    sys.stderr = sys.__stderr__ = stream(2, '<stderr>', False)

def warm():
    exec(compile('import json\ndef f(n):\n    return [str(i * 2) for i in range(n)]\nx = json.dumps({"a": f(9)})\n'
                 'class A:\n    pass\n', '<warm>', 'exec'), {})

def fresh():
    _signal.signal(signal.SIGINT, signal.default_int_handler)   # the enumerations of `signal` would touch 40 pages
    process = sys.modules.get('multiprocessing.process')
    if process:
        process.current_process().authkey = os.urandom(32)
    numpy = sys.modules.get('numpy')
    if numpy:
        numpy.random.seed()

def take(start):
    global own_packages
    isolated, arguments, everything, variables = start
    os.environ.clear()
    for variable in variables:
        name, _, value = variable.partition('=')
        os.environ[name] = value
    sys.argv = ['-c', *arguments]
    sys.orig_argv[:] = everything
    own_packages = not isolated
    if getattr(sysconfig, '_CONFIG_VARS', None):
        sysconfig._CONFIG_VARS['userbase'] = sysconfig._getuserbase()
    if own_packages:
        site.USER_BASE = site.USER_SITE = None
        site.ENABLE_USER_SITE = site.check_enableusersite()
        site.getusersitepackages()
        site.enablerlcompleter()

# Also those that lines of .pth files name.
def folders_of_packages():
    yield site.USER_SITE
    for name in os.listdir(site.USER_SITE):
        if not name.endswith('.pth'):
            continue
        with open(os.path.join(site.USER_SITE, name)) as file:
            for line in file:
                if not line.startswith(('#', 'import ', 'import\t')) and line.strip():
                    yield os.path.join(site.USER_SITE, line.rstrip())

def meets_other_packages():
    if 'matplotlib' in sys.modules and os.path.exists('matplotlibrc'):
        return True
    if not own_packages or not os.path.isdir(site.USER_SITE):
        return False
    clash = set()
    for folder in folders_of_packages():
        if os.path.isdir(folder):
            clash.update(*(concerned.get(package_of(name), ()) for name in os.listdir(folder)))
    if clash and clash <= renewable:
        for name in [name for name in sys.modules if package_of(name) in renewable]:
            del sys.modules[name]
    return not clash <= renewable

def add_own_packages():
    if not own_packages:
        return
    rest = sys.path[site_begins:]
    del sys.path[site_begins:]
    site.addusersitepackages(site.removeduppaths())
    sys.path.extend(folder for folder in rest if folder not in sys.path)
    site.execusercustomize()

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
    gc.collect(2 if gc.get_objects(2) else 1)   # objects of a short run have not grown old
    return True
