# A thread reads the socket, so that an interrupt arrives while code runs; the code runs in the main thread, where
# signals are delivered. What the code prints after its end belongs to the run after it.

import errno

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

def wrapped(raw):
    raw.waits_for_line = True
    return Stream(raw, encoding='utf-8', errors='backslashreplace', line_buffering=True, write_through=True)

# Code that closes descriptors closes those with low numbers.
def out_of_the_way(number):
    try:
        return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 200)
    except OSError:
        return os.dup(number)

sys.stdout = sys.__stdout__ = wrapped(raw_of(sys.stdout))
sys.stderr = sys.__stderr__ = wrapped(raw_of(sys.stderr))
out, err, link = map(out_of_the_way, (1, 2, 3))
os.close(3)
owner = os.getpid()
os.environ.setdefault('PYTHONUNBUFFERED', '1')   # of programs that the code starts, which may be ended before they flush
threading.stack_size(1 << 20)                     # counts against the limit of memory with its whole size
jobs, replies = queue.SimpleQueue(), queue.SimpleQueue()
running, whole, pending = threading.Event(), threading.Event(), threading.Event()
noticed, work_began, current_job = False, 0, None
beginning = threading.Lock()
handed_back = threading.Semaphore(0)

def end_without_link():
    try:
        os.write(2, b'The kernel ends here: its code has closed the descriptor by which the server speaks to it.\n')
    finally:
        os._exit(70)

def read_exactly(count):
    data = b''
    while len(data) < count:
        try:
            piece = os.read(link, count - len(data))
        except OSError:
            end_without_link()
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
                    threading.Thread(target=pursue, args=(current_job,), daemon=True).start()
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
    global noticed, work_began
    noticed, work_began = False, time.clock_gettime(time.CLOCK_BOOTTIME)
    with beginning:
        running.set()

def end_work():
    while running.is_set():
        try:
            with beginning:
                running.clear()
        except KeyboardInterrupt:
            pass                                # the work is done

taken_later('kernel_interrupts', 'pursue', 'end_processes_of_work')

def heed_interrupt():
    if running.is_set() and pending.is_set():
        pending.clear()
        raise KeyboardInterrupt

def interrupted(number, frame):
    global noticed
    noticed = True
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

def framed(message):
    data = json_bytes(message)
    return struct.pack('>I', len(data)) + data

sending, in_message = threading.RLock(), False

@contextlib.contextmanager
def link_alone():
    """No other thread sends; False: a signal handler or finalizer within a message of this thread."""
    global in_message
    with sending:
        within, in_message = in_message, True
        try:
            yield not within
        finally:
            in_message = within

def send(data):
    with link_alone():
        while data:
            try:
                data = data[os.write(link, data):]
            except OSError as problem:
                if problem.errno != errno.EPIPE:
                    end_without_link()
                os._exit(0)

def say(message):
    send(framed(message))

coming = None                                   # the next job, while tasks of the code run

def has_tasks():
    return loop is not None and not loop.is_closed() and bool(sys.modules['asyncio'].all_tasks(loop))

def next_job():
    global coming
    while True:
        try:
            if coming is None and not has_tasks():
                return jobs.get()
            coming = coming or waiter.submit(jobs.get)
            if has_tasks():
                job = loop.run_until_complete(sys.modules['asyncio'].wrap_future(coming, loop=loop))
            else:
                job = coming.result()
            coming = None
            return job
        except BaseException as problem:        # of such a task
            show(problem)

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
    print_error(''.join(told.format()))

def finish_figures():
    try:
        show_figures()
    except Exception as problem:
        show(problem)

def attempt(source):
    global behind_cell
    behind_cell = False
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
            end_work()
        return {'ok': True, 'exit': 0, **answer}
    except SystemExit as problem:
        return {'ok': True, 'exit': exit_value(getattr(problem, 'code', None))}
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

taken_later('kernel_orders', 'earlier_kernel', 'drop_state', 'look', 'move_state')

def run_job(job):
    global fresh, was_kept
    if was_kept:                                # and did not end
        drop_state()
        was_kept = False
    earlier = earlier_kernel() if fresh else None
    fresh = False
    if 'tools' in job:
        os.environ['CONTAINER_MCP_TOOLS'] = job['tools']
    begun = processor_time()
    forget_peak()
    if 'notebook' in job:
        load_later('kernel_notebook')
        answer, earlier = run_cell(job, earlier), None
    else:
        answer = attempt(job['code'])
    left = end_processes_of_work() if noticed and os.getpid() == owner else []
    if left:
        answer['left_running'] = left
        if 'notebook' in job:
            print_error('Processes that the interrupted code has left running, each in a group of its own: %s.\n' % ', '.join(left))
    answer['cpu_us'], answer['peak_bytes'] = round((processor_time() - begun) * 1e6), peak_memory()
    if displays:
        answer['displays'] = displays[:]
    if earlier:
        answer['earlier'] = earlier
    return answer

def flush_all():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    if 'ctypes' in sys.modules:
        try:
            sys.modules['ctypes'].CDLL(None).fflush(None)       # what libraries print by printf()
        except Exception:
            pass

def mark(text):
    flush_all()
    for number in (out, err):
        data = text.encode()
        while data:
            try:
                data = data[os.write(number, data):]
            except OSError:
                end_without_link()

first_builtins = {name: value for name, value in vars(builtins).items() if callable(value)}

# The next code can be read and can print, whatever this one has done to streams and builtins.
def repair():
    for name, value in first_builtins.items():
        if not callable(getattr(builtins, name, None)):
            setattr(builtins, name, value)
    for name, number, kept in (('stdout', 1, out), ('stderr', 2, err)):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(kept, number)
        try:
            stream = getattr(sys, name, None)
            usable = stream is not None and not getattr(stream, 'closed', False)
        except Exception:
            usable = False
        if not usable:
            made = wrapped(Unbuffered(io.FileIO(number, 'wb', closefd=False)))
            setattr(sys, name, made)
            setattr(sys, '__%s__' % name, made)
    if sys.getrecursionlimit() < 1000:
        sys.setrecursionlimit(1000)

# An interrupt pursues the job that it is for, and no later one of any kind.
def serve(job):
    global current_job
    current_job = job
    try:
        answer = {'run': run_job, 'look': look}.get(job['op'], move_state)(job)
    except BaseException as problem:
        end_work()
        show(problem)
        answer = {'ok': False, 'exit': 1}
    if os.getpid() != owner:
        flush_all()
        os._exit(answer['exit'])                # a child that the code made and let fall off its end
    repair()
    answer['id'] = job['id']
    try:
        data = framed(answer)
    except Exception as problem:
        show(problem)
        data = framed({'id': job['id'], 'ok': False, 'exit': 1, 'reason': cut('%s: %s' % (type(problem).__name__, problem), 300)})
    mark(job['mark'])
    send(data)

signal.signal(signal.SIGINT, interrupted)
threading.Thread(target=listen, daemon=True).start()
while True:
    try:
        serve(next_job())
    except KeyboardInterrupt:
        pass
