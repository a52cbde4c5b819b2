# A thread reads the socket, so that an interrupt arrives while code runs; the code runs in the main thread, where
# signals are delivered. What the code prints after its end belongs to the run after it.

# In a notebook's cell, what is written to the other stream waits until the server has what was written to this one.
last_written = None

class Stream(io.TextIOWrapper):
    def write(self, text):
        global last_written
        if notebook is not None and last_written is not self:
            if last_written is not None:
                tell('', {})
            last_written = self
        return super().write(text)

def wrapped(stream):
    return Stream(stream.detach(), encoding='utf-8', errors='backslashreplace', line_buffering=True, write_through=True)

sys.stdout = sys.__stdout__ = wrapped(sys.stdout)
sys.stderr = sys.__stderr__ = wrapped(sys.stderr)
out, err, link = os.dup(1), os.dup(2), os.dup(3)
os.close(3)
owner = os.getpid()
jobs, replies = queue.SimpleQueue(), queue.SimpleQueue()
running, whole, pending = threading.Event(), threading.Event(), threading.Event()
beginning = threading.Lock()
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
            with beginning:
                if running.is_set():
                    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                else:
                    pending.set()
        elif message['op'] == 'programs':
            later.update(message['programs'])
        elif message['op'] == 'reply':
            replies.put(message)
        else:
            pending.clear()                     # it was for the job before
            jobs.put(message)
            if message['op'] == 'take':
                handed_back.acquire()           # who takes reads what follows

# From here on signals interrupt; what came before waits until it is heeded.
def begin_work():
    with beginning:
        running.set()

def heed_interrupt():
    if running.is_set() and pending.is_set():
        pending.clear()
        raise KeyboardInterrupt

def interrupted(number, frame):
    if whole.is_set():
        pending.set()
    elif running.is_set():
        raise KeyboardInterrupt

# Until its end an interrupt waits.
@contextlib.contextmanager
def undisturbed():
    whole.set()
    try:
        yield
    finally:
        whole.clear()
    heed_interrupt()

def say(message):
    data = json.dumps(message, allow_nan=False).encode()
    data = struct.pack('>I', len(data)) + data
    while data:
        data = data[os.write(link, data):]

def next_job():
    if loop is None or loop.is_closed() or not sys.modules['asyncio'].all_tasks(loop):
        return jobs.get()
    return loop.run_until_complete(loop.run_in_executor(waiter, jobs.get))

def exit_status(code):
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1

# Frames of this program, and of what called the code, say nothing to its author.
def without_own_frames(told, problem, otherwise=0):
    frames = [frame for frame, line in traceback.walk_tb(problem.__traceback__)]
    first = next((at for at, frame in enumerate(frames) if frame.f_code.co_filename.startswith('In[')), otherwise)
    told.stack[:] = [one for at, (one, frame) in enumerate(zip(told.stack, frames)) if at >= first and frame.f_globals is not globals()]
    for further, of in ((told.__cause__, problem.__cause__), (told.__context__, problem.__context__)):
        if further is not None and of is not None:
            without_own_frames(further, of)

def show(problem):
    told = traceback.TracebackException(type(problem), problem, problem.__traceback__)
    without_own_frames(told, problem, sys.maxsize)
    print(''.join(told.format()), end='', file=sys.stderr)

def finish_figures():
    try:
        show_figures()
    except Exception as problem:
        show(problem)

def attempt(source):
    try:
        try:
            begin_work()
            displays.clear()
            look_for_packages()
            try:
                heed_interrupt()
                answer = run_source(source)
            finally:
                finish_figures()
        finally:
            running.clear()
        return {'ok': True, 'exit': 0, **answer}
    except SystemExit as problem:
        return {'ok': True, 'exit': exit_status(problem.code)}
    except BaseException as problem:
        try:
            show(problem)
        except BaseException:
            pass
        return {'ok': False, 'exit': 130 if isinstance(problem, KeyboardInterrupt) else 1}

def processor_time():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))

# Where the kernel lets no process forget its peak, it is that of the whole life.
def forget_peak():
    try:
        with open('/proc/self/clear_refs', 'w') as file:
            file.write('5')
    except OSError:
        pass

def peak_memory():
    try:
        with open('/proc/self/status') as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith('VmHWM'))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

fresh, was_kept = True, False

# A kernel that runs code for the first time takes what the one before has kept. The mark says that there was one.
def earlier_kernel():
    folder = os.path.join(workspace, kept_folder)
    mark, state = os.path.join(folder, 'began'), os.path.join(folder, 'state')
    earlier = None
    try:
        if forgets:
            for name in (mark, state):
                if os.path.lexists(name):
                    os.unlink(name)
        if os.path.exists(state):
            load_later('kernel_recall')
            earlier = recall(folder)
        elif os.path.exists(mark):
            earlier = {'kept': False}
        os.makedirs(folder, exist_ok=True)
        open(mark, 'w').close()
    except OSError as problem:
        print('The variables of later kernels cannot be kept: %s' % problem, file=sys.stderr)
    return earlier

def drop_state():
    try:
        os.unlink(os.path.join(workspace, kept_folder, 'state'))
    except OSError:
        pass

def run_job(job):
    global current_job, fresh, was_kept
    if was_kept:                                # and did not end
        drop_state()
        was_kept = False
    earlier = earlier_kernel() if fresh else None
    fresh = False
    current_job = job
    if 'tools' in job:
        os.environ['CONTAINER_MCP_TOOLS'] = job['tools']
    begun = processor_time()
    forget_peak()
    if 'notebook' in job:
        load_later('kernel_notebook')
        answer, earlier = run_cell(job, earlier), None
    else:
        answer = attempt(job['code'])
    answer['cpu_us'], answer['peak_bytes'] = round((processor_time() - begun) * 1e6), peak_memory()
    if displays:
        answer['displays'] = displays[:]
    if earlier:
        answer['earlier'] = earlier
    return answer

# What a client of Jupyter's protocol asks about the code and its names.
def look(job):
    try:
        try:
            begin_work()
            load_later('kernel_notebook')
            return {'ok': True, 'exit': 0, 'state': questions_of_clients[job['question']](job['content'])}
        finally:
            running.clear()
    except BaseException as problem:
        return {'ok': False, 'exit': 1, 'reason': cut('%s: %s' % (type(problem).__name__, problem), 300)}

# The state of the interpreter, given to another one, taken from it or kept for a later one.
def move_state(job):
    global fresh, was_kept
    fresh, was_kept = fresh and job['op'] != 'take', was_kept or job['op'] == 'keep'
    try:
        try:
            begin_work()
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

_install_figures(figure_shown, show_at_once)
signal.signal(signal.SIGINT, interrupted)
threading.Thread(target=listen, daemon=True).start()
while True:
    try:
        job = next_job()
        answer = {'run': run_job, 'look': look}.get(job['op'], move_state)(job)
        if os.getpid() != owner:
            os._exit(0)     # a child that the code made and let fall off its end
        answer['id'] = job['id']
        mark(job['mark'])
        say(answer)
    except KeyboardInterrupt:
        pass
