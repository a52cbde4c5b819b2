#!/usr/bin/env python3
"""kernel_driver.py and kernel_state_*.py: code, values, interrupts, and the state of one interpreter in another."""
import json
import pathlib
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from support import embedded
from support.patience import until


class Kernels(unittest.TestCase):
    def kernel(self):
        kernel = embedded.Kernel()
        self.addCleanup(kernel.end)
        return kernel

    def copy(self, giver, taker, left_out=()):
        """What the server does: the answers of both, with the pieces handed from one to the other."""
        taker.begin(op="take", program=embedded.program("kernels/kernel_state_common.py", "kernels/kernel_state_take.py"))
        giver.begin(op="give", left_out=list(left_out),
                    program=embedded.program("kernels/kernel_state_common.py", "kernels/kernel_state_give.py"))
        while True:
            of_state, data = giver.piece()
            if not of_state:
                return data, taker.answer()
            taker.socket.sendall(struct.pack(">I", 0x80000000 | len(data)) + data)

    def state(self, giver, taker, left_out=()):
        given, taken = self.copy(giver, taker, left_out)
        return json.loads(given)["state"], taken["state"]


class Code(Kernels):
    def test_variables_stay_and_the_last_expression_is_the_result(self):
        kernel = self.kernel()
        self.assertEqual(kernel.execute("x = 20\nprint('set')"), {"ok": True, "exit": 0})
        self.assertEqual(kernel.output(), "set\n")
        self.assertEqual(kernel.execute("x + 1"), {"ok": True, "exit": 0, "result": 21})
        self.assertEqual(kernel.execute("_ * 2")["result"], 42)

    def test_an_error_leaves_the_variables_and_shows_the_code_alone(self):
        kernel = self.kernel()
        self.assertEqual(kernel.execute("x = 1\n1 / 0"), {"ok": False, "exit": 1})
        self.assertIn('File "In[1]", line 2', kernel.run.err)
        self.assertNotIn("<string>", kernel.run.err)
        self.assertEqual(kernel.execute("x")["result"], 1)

    def test_exit_ends_the_code_and_not_the_kernel(self):
        kernel = self.kernel()
        self.assertEqual(kernel.execute("import sys; sys.exit(7)"), {"ok": True, "exit": 7})
        self.assertEqual(kernel.execute("1")["result"], 1)

    def test_an_interrupt_ends_the_code_that_runs(self):
        kernel = self.kernel()
        kernel.begin(op="run", code="print('up', flush=True)\nimport time\ntime.sleep(1000)")
        until("the code begins", lambda: "up" in kernel.run.out)
        kernel.send(op="interrupt")
        self.assertEqual(kernel.answer(), {"ok": False, "exit": 130})
        self.assertEqual(kernel.execute("2")["result"], 2)

    def test_an_interrupt_at_once_ends_the_code_that_it_was_meant_for(self):
        kernel = self.kernel()
        for _ in range(40):
            kernel.begin(op="run", code="while True: pass")
            kernel.send(op="interrupt")
            self.assertEqual(kernel.answer(), {"ok": False, "exit": 130})
            self.assertEqual(kernel.cell("while True: pass", interrupted=True)[1]["ok"], False)
            kernel.send(op="interrupt")         # comes too late
            self.assertEqual(kernel.execute("2")["result"], 2)

    def test_a_value_without_json_form_is_text(self):
        self.assertEqual(self.kernel().execute("{1}")["result"], "{1}")

    def test_a_value_that_json_would_change_is_its_repr(self):
        kernel = self.kernel()
        kernel.execute("import decimal, datetime, collections\nclass S(str): pass\ndeep = []\nfor _ in range(70): deep = [deep]\nround_ = []\nround_.append(round_)")
        for code in ("2**64", "(1, 2)", "{1: 'a', '1': 'b'}", "{None: 1}", "[{'x': (1,)}]", "float('inf')", "S('s')", "decimal.Decimal('1.0')", "collections.Counter('ab')",
                     "'\\ud800'", "{'\\udce9': 1}", "round_", "deep", "datetime.date(2026, 1, 2)", "1j", "b'x'"):
            with self.subTest(code=code):
                answer = kernel.execute(code)
                self.assertEqual((answer["result"], answer["result_is_repr"]), (kernel.execute(f"print(repr({code}))") and kernel.output()[:-1], True))
        for code, value in (("[True, 1, 1.0, -0.0, None, {'a': []}]", [True, 1, 1.0, -0.0, None, {"a": []}]), ("-2**63", -2**63), ("'é'", "é")):
            answer = kernel.execute(code)
            self.assertEqual((repr(answer["result"]), "result_is_repr" in answer), (repr(value), False))

    def test_data_of_the_code_ends_no_kernel(self):
        kernel = self.kernel()
        kernel.execute("kept = 1")
        for code in ("raise ValueError('\\udce9')", "display('\\ud800')", "raise type('E\\udce9', (Exception,), {})", "class A:\n    def __repr__(self): return 5\nA()",
                     "class E(Exception):\n    def __str__(self): 1 / 0\nraise E", "raise SystemExit(type('Q', (), {'__str__': lambda self: 1 / 0})())",
                     "import sys\nsys.stdout = None", "sys.stderr = None\n1 / 0", "sys.stdout.close()", "del sys.stdout", "import os\nos.close(1); os.close(2)", "os.closerange(3, 100)",
                     "import builtins\nbuiltins.len = builtins.print = None\ndel builtins.repr", "import json, time, traceback\njson.dumps = json.loads = os.write = os.read = os.getpid = time.time = None\n"
                     "traceback.TracebackException = None\n1 / 0", "sys.setrecursionlimit(60)", "sys.modules.pop('json')", "sys.path.insert(0, os.getcwd())\nopen('random.py', 'w').write('1 / 0')",
                     "import asyncio\nasync def bad(): raise SystemExit(3)\ntask = asyncio.ensure_future(bad())", "import _thread\n_thread.start_new_thread(_thread.interrupt_main, ())"):
            with self.subTest(code=code):
                kernel.execute(code)
                self.assertEqual(kernel.execute("kept")["result"], 1)
                self.assertEqual(kernel.execute("print('heard')") and kernel.output(), "heard\n")

    def test_an_exit_value_is_that_of_a_script(self):
        kernel = self.kernel()
        kernel.execute("import enum, sys\nclass Code(enum.IntEnum):\n    FAILED = 3\nclass End(SystemExit): pass")
        for code, value, told in (("sys.exit(True)", 1, ""), ("sys.exit(False)", 0, ""), ("sys.exit()", 0, ""), ("sys.exit(Code.FAILED)", 3, ""), ("sys.exit(-1)", 255, ""),
                                  ("sys.exit(2**70)", 255, ""), ("sys.exit(2**32 + 5)", 5, ""), ("raise End('no')", 1, "no\n"), ("sys.exit(1.0)", 1, "1.0\n"), ("sys.exit([])", 1, "[]\n")):
            with self.subTest(code=code):
                self.assertEqual((kernel.execute(code)["exit"], kernel.errors()), (value, told))

    def test_a_child_that_falls_off_its_end_has_the_exit_value_of_its_code(self):
        kernel = self.kernel()
        self.assertEqual(kernel.execute("import os\npid = os.fork()\nif not pid: 1 / 0\nos.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])")["result"], 1)

    def begun(self, kernel, code):
        """Runs code that has begun once this returns."""
        kernel.begin(op="run", code=f"print('begun-{kernel.number}', flush=True)\n{code}")
        self.until(kernel, f"begun-{kernel.number - 1}")

    def until(self, kernel, text):
        until(f"the code prints {text}", lambda: text in kernel.run.out.rpartition(f"<{kernel.number - 1}>")[2])

    def test_an_interrupt_reaches_the_processes_of_the_code(self):
        kernel = self.kernel()
        kernel.execute("import os, subprocess, sys, time\ndef deaf():\n    code = 'import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print(1, flush=True); time.sleep(1000)'\n"
                       "    child = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE)\n    child.stdout.read(1)\n    return child")
        for code, ended in (("child = subprocess.Popen(['sleep', '1000'])\nchild.wait()", -2), ("child = deaf()\nchild.wait()", -9)):
            self.begun(kernel, code.replace("\nchild.wait", "\nprint('waits', flush=True)\nchild.wait"))
            self.until(kernel, "waits")
            kernel.send(op="interrupt")
            self.assertEqual(kernel.answer(), {"ok": False, "exit": 130})
            self.assertEqual(kernel.execute("child.wait()")["result"], ended)
        self.begun(kernel, "os.system('sleep 1000')\ntime.sleep(1000)")
        kernel.send(op="interrupt")
        self.assertEqual(kernel.answer(), {"ok": False, "exit": 130})

    def test_a_process_with_a_session_of_its_own_is_named(self):
        kernel = self.kernel()
        self.begun(kernel, "import subprocess\nchild = subprocess.Popen(['sleep', '1000'], start_new_session=True)\nprint('waits', flush=True)\nchild.wait()")
        self.until(kernel, "waits")
        kernel.send(op="interrupt")
        self.assertRegex(kernel.answer()["left_running"][0], r"sleep 1000 \(\d+\)")
        self.assertEqual(kernel.execute("child.kill()\nchild.wait()")["result"], -9)

    def test_workers_that_are_started_anew_and_cannot_find_a_function_are_told(self):
        kernel = self.kernel()
        kernel.execute("import multiprocessing as mp\ndef double(x): return 2 * x")
        for code in ("with mp.get_context('spawn').Pool(1) as pool: pool.map(double, [1])", "mp.get_context('spawn').Process(target=double, args=(1,)).start()",
                     "import concurrent.futures\nwith concurrent.futures.ProcessPoolExecutor(1, mp_context=mp.get_context('spawn')) as pool: list(pool.map(double, [1]))"):
            self.assertEqual(kernel.execute(code)["exit"], 1)
            self.assertIn("cannot find double, which a cell defines", kernel.errors())
        self.assertEqual(kernel.execute("with mp.get_context('fork').Pool(1) as pool: values = pool.map(double, [1])\nvalues")["result"], [2])
        self.assertEqual(kernel.execute("with mp.get_context('spawn').Pool(1) as pool: values = pool.map(abs, [-1])\nvalues")["result"], [1])

    def test_an_indented_cell_and_features_of_the_future(self):
        kernel = self.kernel()
        self.assertEqual(kernel.execute("\n    x = 3\n    if x:\n        x += 1\n    x")["result"], 4)
        self.assertEqual(kernel.execute("if x:\n    y = 1\n  z = 2")["exit"], 1)
        kernel.execute("from __future__ import annotations")
        self.assertEqual(kernel.execute("def f(a: Unknown): pass\nf.__annotations__")["result"], {"a": "Unknown"})

    def test_the_kernel_ends_with_its_socket(self):
        kernel = self.kernel()
        kernel.execute("1")
        kernel.socket.close()
        self.assertEqual(kernel.run.wait(), 0)


class State(Kernels):
    def test_functions_see_the_variables_of_the_new_kernel(self):
        giver, taker = self.kernel(), self.kernel()
        giver.execute("rate = 2\ndef price(n): return n * rate\nclass Item:\n    tax = 1\n    def total(self): return price(3) + self.tax\nitem = Item()")
        given, taken = self.state(giver, taker)
        self.assertEqual((given["variables"], given["problems"], taken), (4, [], {}))
        self.assertEqual(taker.execute("[item.total(), type(item) is Item]")["result"], [7, True])
        self.assertEqual(taker.execute("rate = 10\nitem.total()")["result"], 31)

    def test_shared_objects_closures_and_recursion_stay(self):
        giver, taker = self.kernel(), self.kernel()
        giver.execute("a = []\nb = [a]\na.append(b)\ndef counter():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n"
                      "        return n\n    return up\nup = counter()\nup()")
        self.state(giver, taker)
        self.assertEqual(taker.execute("[b[0] is a and a[0] is b, up()]")["result"], [True, 2])

    def test_enumerations_data_classes_and_modules_come_along(self):
        giver, taker = self.kernel(), self.kernel()
        giver.execute("import enum, dataclasses, math, functools\nclass Colour(enum.Enum):\n    RED = 1\n@dataclasses.dataclass\nclass Point:\n"
                      "    x: int = 3\np = Point()\nred = Colour.RED\n@functools.lru_cache\ndef f(n): return n + 1")
        self.assertEqual(self.state(giver, taker)[0]["problems"], [])
        self.assertEqual(taker.execute("[red is Colour.RED, p == Point(3), math.floor(2.5), f(1)]")["result"], [True, True, 2, 2])

    def test_what_cannot_go_is_named_and_the_rest_goes(self):
        giver, taker = self.kernel(), self.kernel()
        giver.execute("import threading\nlock = threading.Lock()\nx = 5\nleft = 6")
        given, taken = self.state(giver, taker, ["left"])
        self.assertEqual([each["name"] for each in given["problems"]], ["lock"])
        self.assertIn("pickle", given["problems"][0]["reason"])
        self.assertEqual(taken, {})
        self.assertEqual(taker.execute("[x, 'lock' in globals(), 'left' in globals()]")["result"], [5, False, False])

    def test_a_variable_that_cannot_be_made_again_is_named_and_nothing_is_taken(self):
        giver, taker = self.kernel(), self.kernel()
        giver.execute("x = 1\nclass Bad:\n    def __reduce__(self): return (int, ('no',))\nbad = Bad()")
        problem = self.state(giver, taker)[1]["problem"]
        self.assertEqual(problem["name"], "bad")
        self.assertIn("ValueError", problem["reason"])
        self.assertEqual(taker.execute("'x' in globals()")["result"], False)

    def test_random_numbers_environment_and_folder_go_on(self):
        giver, taker = self.kernel(), self.kernel()
        giver.execute("import random, os\nrandom.seed(4)\nos.environ['MARK'] = 'm'\nos.chdir('/usr')")
        expected = giver.execute("state = random.getstate()\nr = random.random()\nrandom.setstate(state)\nr")["result"]
        self.state(giver, taker)
        self.assertEqual(taker.execute("[random.random(), os.environ['MARK'], os.getcwd()]")["result"], [expected, "m", "/usr"])


class Kept(Kernels):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def in_folder(self):
        kernel = embedded.Kernel(self.folder.name)
        self.addCleanup(kernel.end)
        return kernel

    def keep(self, kernel, most=1 << 20):
        program = embedded.program("kernels/kernel_state_common.py", "kernels/kernel_state_give.py", "kernels/kernel_state_keep.py")
        kernel.begin(op="keep", most=most, program=program)
        return kernel.answer()

    def test_variables_are_back_in_the_kernel_after_this_one(self):
        first = self.in_folder()
        first.execute("import math, threading\nrate = 2\ndef price(n): return n * rate\na = [1]; b = a\nlock = threading.Lock()")
        self.assertEqual(self.keep(first)["state"]["variables"], 6)
        first.end()
        second = self.in_folder()
        answer = second.execute("[price(3), math.floor(2.5), a is b, 'lock' in globals()]")
        self.assertEqual(answer["result"], [6, 2, True, False])
        self.assertEqual((answer["earlier"]["kept"], answer["earlier"]["variables"]), (True, 6))
        self.assertEqual([each["name"] for each in answer["earlier"]["left_out"]], ["lock"])
        self.assertNotIn("earlier", second.execute("rate = 10\nprice(3)"))
        second.end()
        self.assertEqual(self.in_folder().execute("'rate' in globals()"), {"ok": True, "exit": 0, "result": False, "earlier": {"kept": False}})

    def test_the_largest_variables_stay_behind_where_there_is_no_room(self):
        first = self.in_folder()
        first.execute("small = 1\nlarge = b'x' * 3_000_000\nother = b'y' * 2_000_000")
        self.assertEqual(self.keep(first, 1 << 20)["state"]["variables"], 1)
        first.end()
        answer = self.in_folder().execute("[small, 'large' in globals()]")
        self.assertEqual(answer["result"], [1, False])
        self.assertEqual([each["name"] for each in answer["earlier"]["left_out"]], ["large", "other"])

    def test_a_variable_that_cannot_be_made_again_is_named_with_those_behind_it(self):
        first = self.in_folder()
        first.execute("x = 1\nclass Bad:\n    def __reduce__(self): return (int, ('no',))\nbad = Bad()\ny = 2")
        self.keep(first)
        first.end()
        answer = self.in_folder().execute("[x, 'y' in globals()]")
        self.assertEqual(answer["result"], [1, False])
        self.assertEqual([each["name"] for each in answer["earlier"]["left_out"]], ["bad", "y"])

    def test_state_that_ends_the_kernel_does_so_once(self):
        first = self.in_folder()
        first.execute("import os\nclass Bad:\n    def __reduce__(self): return (os._exit, (3,))\nbad = Bad()")
        self.keep(first)
        first.end()
        second = self.in_folder()
        second.begin(op="run", code="1")
        self.assertEqual(second.run.wait(), 3)
        self.assertEqual(self.in_folder().execute("1"), {"ok": True, "exit": 0, "result": 1, "earlier": {"kept": False}})


if __name__ == "__main__":
    embedded.main()
