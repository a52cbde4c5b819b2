#pragma once

#include "config/settings.hpp"
#include "test/program/tools/system_support.hpp"

namespace cmcp::test {

/// True when a zygote was built, so that loaded interpreters can serve runs.
inline bool built() { return ways().size() == 2; }

inline settings with(std::size_t waiting, std::size_t runs)
{
    settings config = all_programs();
    config.python_zygote_waiting = waiting;
    config.python_zygote_runs = runs;
    return config;
}

/// The result without its times and sizes, which differ from run to run.
inline json::object comparable(json::object result)
{
    for (const char* name : {"duration_ms", "cpu_ms", "peak_memory_bytes", "prepared"}) result.erase(name);
    return result;
}

/// Programs whose result is the same however their run is started.
inline const char* const programs[] = {
    "import sys\nprint(sys.argv, sys.orig_argv, sys.flags, sys.executable, sys.path, sys._xoptions)",
    "print(__name__, sorted(globals()), '__file__' in globals(), __builtins__.__name__)",
    "import os\nprint(os.environ, os.getcwd(), os.getpid(), os.getppid(), os.getuid(), os.getgroups(), os.umask(0))",
    "import os\nprint(sorted(int(n) for n in os.listdir('/proc/self/fd')))",
    "import os\nprint(os.readlink('/proc/self/fd/0'), os.read(0, 10), os.fstat(1).st_mode, os.fstat(2).st_mode)",
    "print(open('/proc/self/comm').read())",
    "for l in open('/proc/self/status'):\n"
    "  if l.split(':')[0] in "
    "('Uid','Gid','Groups','NoNewPrivs','Seccomp','Seccomp_filters','CapInh','CapPrm','CapEff','CapBnd',"
    "'CapAmb','SigBlk','SigIgn','SigCgt','Threads','CoreDumping','Umask'): print(l, end='')",
    "import resource\nfor n in sorted(dir(resource)):\n"
    "  if n.startswith('RLIMIT_') and n != 'RLIMIT_DATA': print(n, resource.getrlimit(getattr(resource, n)))",
    "import signal\nfor s in sorted(signal.valid_signals()): print(s, "
    "signal.getsignal(s))\nprint(signal.pthread_sigmask(0, []))",
    "import sys\nfor s in (sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__):\n"
    "  print(type(s), s.name, s.mode, s.encoding, s.errors, s.newlines, s.line_buffering, s.fileno(), s.isatty(), "
    "s.seekable(), s.buffer)",
    "import atexit\natexit.register(print, 'at exit')\nprint('body')",
    "import atexit\natexit.register(divmod, 1, 0)",
    "class A:\n  def __del__(self): print('deleted', A)\na = A()\nb = [A()]\nb.append(b)\nprint('end')",
    "import gc\nclass A:\n  def __del__(self): print('deleted')\na = [A()]\na.append(a)\ngc.collect()\nprint('old "
    "now')",
    "f = open('left_open.txt', 'w')\nf.write('text')",
    "import os\nopen('left_open.txt').read() == 'text' or os._exit(9)",
    "import threading, time\nd = threading.Thread(target=time.sleep, args=(60,), daemon=True)\nd.start()\nprint('main "
    "ends')",
    "import threading\nprint(threading.main_thread() is threading.current_thread(), threading.active_count())",
    "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "import os, signal\ntry:\n  os.kill(os.getpid(), signal.SIGINT)\n  while True: pass\nexcept KeyboardInterrupt: "
    "print('interrupted')",
    "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nwhile True: pass",
    "import ctypes\nctypes.string_at(0)",
    "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.printf(b'buffered by C')",
    "import sys\nsys.stdout.close()",
    "import os\nos.close(1)\nprint('nowhere')",
    "import sys\nsys.stdout = open('out.txt', 'w')\nprint('to a file')",
    "import os\nif os.fork() == 0:\n  print('child')\nelse:\n  os.wait()\n  print('parent')",
    "import os, sys\nif os.fork() == 0: sys.exit(3)\nprint(os.WEXITSTATUS(os.wait()[1]))",
    "import multiprocessing as m\nif __name__ == '__main__':\n  with m.get_context('fork').Pool(2) as p: "
    "print(p.map(abs, [-1, -2]))",
    "import concurrent.futures as c\nwith c.ThreadPoolExecutor(4) as e: print(sorted(e.map(lambda x: x * x, "
    "range(5))))",
    "import asyncio\nasync def f():\n  await asyncio.sleep(0)\n  p = await asyncio.create_subprocess_exec('echo', "
    "'hi')\n  return await p.wait()\nprint(asyncio.run(f()))",
    "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True, "
    "text=True).stdout)",
    "import sys\nsys.exit(2**40 + 7)",
    "import sys\nsys.exit(-1)",
    "raise SystemExit('text')",
    "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__)\n1/0",
    "import logging\nlogging.warning('careful')\nlogging.getLogger('x').error('bad')",
    "import warnings\nwarnings.warn('old')\nprint(warnings.filters)",
    "import decimal, locale, gc, sys\nprint(decimal.getcontext(), locale.setlocale(locale.LC_ALL), gc.isenabled(), "
    "gc.get_threshold(), sys.getrecursionlimit(), sys.getswitchinterval())",
    "def f(n): return f(n + 1)\ntry: f(0)\nexcept RecursionError as e: print(e)",
    "import tempfile, os\nwith tempfile.NamedTemporaryFile() as f: print(os.path.dirname(f.name))",
    "import sqlite3\nprint(sqlite3.connect(':memory:').execute('select 1 + 1').fetchall())",
    "import ssl, hashlib\nprint(len(ssl.RAND_bytes(8)), hashlib.sha256(b'x').hexdigest())",
    "import socket\ntry: socket.create_connection(('192.0.2.1', 80), 1)\nexcept OSError as e: print(type(e).__name__)",
    "import inspect\ndef f(): pass\nprint(inspect.getsource(f))",
    "import pickle, dataclasses\n@dataclasses.dataclass\nclass P:\n  x: int\nprint(pickle.loads(pickle.dumps(P(3))))",
    "import unittest\nclass T(unittest.TestCase):\n  def test(self): self.assertEqual(1, 1)\nfound = "
    "unittest.TestResult()\nunittest.defaultTestLoader.loadTestsFromTestCase(T).run(found)\nprint(found)",
    "x = bytearray(400 << 20)",
    "import os\nopen('/etc/passwd', 'w')",
    "open('big', 'wb').truncate(1 << 40)",
    "input()",
};

}  // namespace cmcp::test
