#!/usr/bin/env python3
"""kernel_driver.py and kernel_state_*.py: code, values, interrupts, and the state of one interpreter in another."""
import json
import pathlib
import struct
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support import embedded


class Kernels(unittest.TestCase):
    def kernel(self):
        kernel = embedded.Kernel()
        self.addCleanup(kernel.end)
        return kernel

    def copy(self, giver, taker, left_out=()):
        """What the server does: the answers of both, with the pieces handed from one to the other."""
        taker.begin(op="take", program=embedded.program("sandboxes/kernel_state_common.py", "sandboxes/kernel_state_take.py"))
        giver.begin(op="give", left_out=list(left_out),
                    program=embedded.program("sandboxes/kernel_state_common.py", "sandboxes/kernel_state_give.py"))
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
        end = time.monotonic() + embedded.PATIENCE
        while "up" not in kernel.run.out and time.monotonic() < end:
            time.sleep(0.005)
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
        self.assertEqual(taker.execute("item.total(), type(item) is Item")["result"], [7, True])
        self.assertEqual(taker.execute("rate = 10\nitem.total()")["result"], 31)

    def test_shared_objects_closures_and_recursion_stay(self):
        giver, taker = self.kernel(), self.kernel()
        giver.execute("a = []\nb = [a]\na.append(b)\ndef counter():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n"
                      "        return n\n    return up\nup = counter()\nup()")
        self.state(giver, taker)
        self.assertEqual(taker.execute("b[0] is a and a[0] is b, up()")["result"], [True, 2])

    def test_enumerations_data_classes_and_modules_come_along(self):
        giver, taker = self.kernel(), self.kernel()
        giver.execute("import enum, dataclasses, math, functools\nclass Colour(enum.Enum):\n    RED = 1\n@dataclasses.dataclass\nclass Point:\n"
                      "    x: int = 3\np = Point()\nred = Colour.RED\n@functools.lru_cache\ndef f(n): return n + 1")
        self.assertEqual(self.state(giver, taker)[0]["problems"], [])
        self.assertEqual(taker.execute("red is Colour.RED, p == Point(3), math.floor(2.5), f(1)")["result"], [True, True, 2, 2])

    def test_what_cannot_go_is_named_and_the_rest_goes(self):
        giver, taker = self.kernel(), self.kernel()
        giver.execute("import threading\nlock = threading.Lock()\nx = 5\nleft = 6")
        given, taken = self.state(giver, taker, ["left"])
        self.assertEqual([each["name"] for each in given["problems"]], ["lock"])
        self.assertIn("pickle", given["problems"][0]["reason"])
        self.assertEqual(taken, {})
        self.assertEqual(taker.execute("x, 'lock' in globals(), 'left' in globals()")["result"], [5, False, False])

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
        self.assertEqual(taker.execute("random.random(), os.environ['MARK'], os.getcwd()")["result"], [expected, "m", "/usr"])


class Kept(Kernels):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def in_folder(self):
        kernel = embedded.Kernel(self.folder.name)
        self.addCleanup(kernel.end)
        return kernel

    def keep(self, kernel, most=1 << 20):
        program = embedded.program("sandboxes/kernel_state_common.py", "sandboxes/kernel_state_give.py", "sandboxes/kernel_state_keep.py")
        kernel.begin(op="keep", most=most, program=program)
        return kernel.answer()

    def test_variables_are_back_in_the_kernel_after_this_one(self):
        first = self.in_folder()
        first.execute("import math, threading\nrate = 2\ndef price(n): return n * rate\na = [1]; b = a\nlock = threading.Lock()")
        self.assertEqual(self.keep(first)["state"]["variables"], 6)
        first.end()
        second = self.in_folder()
        answer = second.execute("price(3), math.floor(2.5), a is b, 'lock' in globals()")
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
        answer = self.in_folder().execute("small, 'large' in globals()")
        self.assertEqual(answer["result"], [1, False])
        self.assertEqual([each["name"] for each in answer["earlier"]["left_out"]], ["large", "other"])

    def test_a_variable_that_cannot_be_made_again_is_named_with_those_behind_it(self):
        first = self.in_folder()
        first.execute("x = 1\nclass Bad:\n    def __reduce__(self): return (int, ('no',))\nbad = Bad()\ny = 2")
        self.keep(first)
        first.end()
        answer = self.in_folder().execute("x, 'y' in globals()")
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
