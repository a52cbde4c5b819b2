# An interrupt goes to the code and, as that of a terminal does, to the processes that it has started in its own group. While
# system() waits for one, the main thread gets no signal: interrupt_main() is heeded behind it.
import _thread

def pursue(job):
    reached = set()
    for _ in range(20):
        with beginning:
            if noticed or not running.is_set() or current_job is not job:
                return
            _thread.interrupt_main()
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        for each in processes_of_work():
            if each.pid not in reached:
                reached.add(each.pid)
                each.send(signal.SIGINT)
        if signal.getsignal(signal.SIGINT) is not interrupted:
            return
        time.sleep(0.1)

class Process:
    def __init__(self, pid):
        with open('/proc/%d/stat' % pid, 'rb') as file:
            fields = file.read().rpartition(b')')[2].split()
        self.pid, self.state, self.parent, self.group, self.began = pid, fields[0], int(fields[1]), int(fields[2]), int(fields[19])

    def send(self, number):
        try:
            os.kill(self.pid, number)
        except OSError:
            pass

    def command(self):
        try:
            with open('/proc/%d/cmdline' % self.pid, 'rb') as file:
                return file.read(200).replace(b'\0', b' ').decode('utf-8', 'replace').strip()
        except OSError:
            return ''

def all_processes():
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                yield Process(int(name))
            except (OSError, ValueError, IndexError):
                pass

# Those that live and were started since the work began, by the kernel or a descendant. The helpers of multiprocessing end by
# themselves.
def processes_of_work(own_group=True):
    group, family, found = os.getpgrp(), {owner}, []
    try:
        everybody = list(all_processes())
    except OSError:
        return []
    size = 0
    while size != len(family):
        size = len(family)
        family.update(each.pid for each in everybody if each.parent in family)
    begun = int(work_began * os.sysconf('SC_CLK_TCK')) - 1
    for each in everybody:
        belongs = each.pid in family or (each.group == group == owner)
        if belongs and each.pid != owner and each.state not in b'ZX' and each.began >= begun and (each.group == group) == own_group:
            command = each.command()
            if 'multiprocessing.resource_tracker' not in command and 'multiprocessing.forkserver' not in command:
                found.append(each)
    return found

def wait_until_gone(seconds):
    until = time.monotonic() + seconds
    while (left := processes_of_work()) and time.monotonic() < until:
        time.sleep(0.02)
    return left

def end_processes_of_work():
    """Ends those that an interrupt left, and names those that stay, because they have a group of their own."""
    for each in wait_until_gone(1):
        each.send(signal.SIGKILL)
    wait_until_gone(0.5)
    return ['%s (%d)' % (cut(each.command(), 80), each.pid) for each in processes_of_work(False)][:10]
