# A thread reads the socket, so that an interrupt arrives while code runs; the code runs in the main thread, where
# signals are delivered. What the code prints after its end belongs to the run after it.
import ast, builtins, importlib, io, json, linecache, os, queue, signal, site, struct, sys, threading, traceback, types

def wrapped(stream):
    return io.TextIOWrapper(stream.detach(), encoding='utf-8', errors='backslashreplace', line_buffering=True, write_through=True)

sys.stdout = sys.__stdout__ = wrapped(sys.stdout)
sys.stderr = sys.__stderr__ = wrapped(sys.stderr)
out, err, link = os.dup(1), os.dup(2), os.dup(3)
os.close(3)
owner = os.getpid()
jobs = queue.SimpleQueue()
running, whole, pending = threading.Event(), threading.Event(), threading.Event()
handed_back = threading.Semaphore(0)

def read_exactly(count):
    data = b''
    while len(data) < count:
        piece = os.read(link, count - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return data

def listen():
    while True:
        size, = struct.unpack('>I', read_exactly(4))
        message = json.loads(read_exactly(size))
        if message['op'] == 'interrupt':
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        else:
            jobs.put(message)
            if message['op'] == 'take':
                handed_back.acquire()           # who takes reads what follows

def interrupted(number, frame):
    if whole.is_set():
        pending.set()
    elif running.is_set():
        raise KeyboardInterrupt

def say(message):
    data = json.dumps(message, allow_nan=False).encode()
    data = struct.pack('>I', len(data)) + data
    while data:
        data = data[os.write(link, data):]

def cut(text, most):
    return text if len(text) <= most else '%s... (%d more characters)' % (text[:most], len(text) - most)

def json_form(value):
    try:
        text = json.dumps(value, allow_nan=False)
        if len(text) <= 1000000:
            return json.loads(text)
    except BaseException:
        pass
    try:
        return cut(repr(value), 100000)
    except BaseException as problem:
        return '<%s object, its repr() raised %s>' % (type(value).__name__, type(problem).__name__)

module = sys.modules['__main__'] = types.ModuleType('__main__')
module.__builtins__ = __builtins__
sys.path.append(sys.argv[1])
sys.argv = ['']
count = 0
first_modules = set(sys.modules)

def path_files(folder):
    try:
        return {name for name in os.listdir(folder) if name.endswith('.pth')}
    except OSError:
        return set()

# Packages are installed while the kernel lives. Python leaves a folder that is not there at its start off sys.path.
own_packages = site.getusersitepackages()
known_path_files = path_files(own_packages) if own_packages in sys.path else set()

def look_for_packages():
    importlib.invalidate_caches()
    if not site.ENABLE_USER_SITE or not os.path.isdir(own_packages):
        return
    system = set(site.getsitepackages())
    place = next((at for at, name in enumerate(sys.path) if name in system), len(sys.path))
    before = list(sys.path)
    if own_packages not in sys.path:
        sys.path.append(own_packages)
    for name in sorted(path_files(own_packages) - known_path_files):
        known_path_files.add(name)
        site.addpackage(own_packages, name, None)
    added = sys.path[len(before):]
    sys.path[:] = before[:place] + added + before[place:]

def execute(source):
    global count
    count += 1
    name = '<code %d>' % count
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names = module.__dict__
    tree = ast.parse(source, name)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    exec(compile(tree, name, 'exec', dont_inherit=True), names)
    if last is None:
        return None
    value = eval(compile(last, name, 'eval', dont_inherit=True), names)
    if value is not None:
        names['_'] = value
    return value

def exit_status(code):
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1

def show(problem):
    trace = problem.__traceback__
    while trace is not None and not trace.tb_frame.f_code.co_filename.startswith('<code '):
        trace = trace.tb_next
    traceback.print_exception(type(problem), problem, trace, file=sys.stderr)

def attempt(source):
    try:
        running.set()
        try:
            look_for_packages()
            value = execute(source)
        finally:
            running.clear()
        return {'ok': True, 'exit': 0} if value is None else {'ok': True, 'exit': 0, 'result': json_form(value)}
    except SystemExit as problem:
        return {'ok': True, 'exit': exit_status(problem.code)}
    except BaseException as problem:
        try:
            show(problem)
        except BaseException:
            pass
        return {'ok': False, 'exit': 130 if isinstance(problem, KeyboardInterrupt) else 1}

# The state of the interpreter, given to another one or taken from it.
def move_state(job):
    try:
        running.set()
        try:
            look_for_packages()     # the state has sys.path in it
            exec(compile(job['program'], '<state>', 'exec'), globals())
            answer = {'ok': True, 'exit': 0, 'state': globals()[job['op']](job)}
        finally:
            running.clear()
        return answer
    except BaseException as problem:
        return {'ok': False, 'exit': 1, 'reason': cut('%s: %s' % (type(problem).__name__, problem), 300)}
    finally:
        if job['op'] == 'take':
            handed_back.release()

def mark(text):
    for stream, number in ((sys.stdout, out), (sys.stderr, err)):
        try:
            stream.flush()
        except BaseException:
            pass
        data = text.encode()
        while data:
            data = data[os.write(number, data):]

signal.signal(signal.SIGINT, interrupted)
threading.Thread(target=listen, daemon=True).start()
while True:
    try:
        job = jobs.get()
        answer = attempt(job['code']) if job['op'] == 'run' else move_state(job)
        if os.getpid() != owner:
            os._exit(0)     # a child that the code made and let fall off its end
        answer['id'] = job['id']
        mark(job['mark'])
        say(answer)
    except KeyboardInterrupt:
        pass
