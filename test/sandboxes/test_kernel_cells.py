#!/usr/bin/env python3
"""The kernel's driver with cells of a client of Jupyter's protocol: events in their order with what is printed, errors, questions about names."""
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support import embedded  # noqa: E402


class Cells(unittest.TestCase):
    def setUp(self):
        self.kernel = embedded.Kernel()

    def tearDown(self):
        self.kernel.end()

    def shown(self, code, **options):
        events, answer = self.kernel.cell(code, **options)
        return [(kind, content.get("data", content)) for kind, content in events], answer

    def printed(self):
        """Text of standard output with a bar where an event stands."""
        return self.kernel.output().replace(f"<{self.kernel.number}\x1d", "|")

    def test_events_stand_where_they_came(self):
        events, answer = self.shown("print('a')\ndisplay({'x': 1})\nprint('b')\n5")
        self.assertEqual([kind for kind, data in events], ["execute_input", "display_data", "execute_result"])
        self.assertEqual(events[1][1], {"text/plain": "{'x': 1}"})
        self.assertEqual(self.printed(), "|a\n|b\n|")
        self.assertEqual(answer["state"], {"execution_count": 1, "user_expressions": {}})

    def test_the_streams_keep_their_order(self):
        events, _ = self.shown("import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')\nprint('d')")
        self.assertEqual([kind for kind, data in events], ["execute_input", "", ""])
        self.assertEqual(self.printed(), "|a\n||c\nd\n")
        self.assertEqual(self.kernel.errors().replace(f"<{self.kernel.number}\x1d", "|"), "||b\n|")

    def test_an_error_is_an_event_and_ends_the_answer(self):
        events, answer = self.shown("1 / 0")
        self.assertEqual(events[-1][0], "error")
        self.assertEqual(events[-1][1]["ename"], "ZeroDivisionError")
        self.assertEqual(answer["state"]["error"], events[-1][1])
        self.assertFalse(answer["ok"])

    def test_bytes_of_a_form_are_base64(self):
        events, _ = self.shown("class P:\n    def _repr_png_(self): return b'\\x89PNG'\n    def __repr__(self): return 'P!'\nP()")
        self.assertEqual(events[-1], ("execute_result", {"text/plain": "P!", "image/png": "iVBORw=="}))

    def test_a_form_that_is_no_json_is_left_out(self):
        events, _ = self.shown("display({'application/json': float('nan'), 'text/plain': 'n'}, raw=True)")
        self.assertEqual(events[-1], ("display_data", {"text/plain": "n"}))
        self.assertIn("application/json", self.kernel.errors())

    def test_a_display_is_updated_by_its_id(self):
        events, _ = self.kernel.cell("h = display('one', display_id=True)\nh.update('two')")
        self.assertEqual([kind for kind, _ in events[1:]], ["display_data", "update_display_data"])
        self.assertEqual(events[1][1]["transient"], events[2][1]["transient"])

    def test_silent_cells_count_for_nothing(self):
        events, answer = self.shown("x = 4\nx", silent=True, user_expressions={"double": "2 * x", "none": "y"})
        self.assertEqual(events, [])
        self.assertEqual(answer["state"]["user_expressions"]["double"]["data"], {"text/plain": "8"})
        self.assertEqual(answer["state"]["user_expressions"]["none"]["ename"], "NameError")
        self.assertEqual(self.shown("x")[1]["state"]["execution_count"], 1)

    def test_a_thread_that_goes_on_shows_nothing_in_later_cells(self):
        self.shown("import threading\ngo = threading.Event()\ndef late():\n    go.wait()\n    display('late')\nthread = threading.Thread(target=late)\nthread.start()")
        self.assertEqual(self.kernel.execute("go.set()\nthread.join()")["ok"], True)

    def test_a_forked_process_prints_and_shows_nothing_by_events(self):
        events, answer = self.shown("import os, sys\npid = os.fork()\nif pid == 0:\n    print('child', file=sys.stderr)\n    display('lost')\n    os._exit(0)\n"
                                    "os.waitpid(pid, 0)[1]")
        self.assertEqual([kind for kind, _ in events if kind], ["execute_input", "execute_result"])
        self.assertIn("child", self.kernel.errors())

    def test_capture_takes_displays(self):
        self.assertEqual([kind for kind, _ in self.shown("%%capture caught\nprint(1)\ndisplay(2)")[0]], ["execute_input"])
        self.assertEqual(self.shown("caught.stdout, len(caught.outputs)")[0][-1][1], {"text/plain": "('1\\n', 1)"})

    def test_long_values_stand_one_a_line(self):
        self.assertEqual(self.shown("list(range(40))")[0][-1][1]["text/plain"], "[" + ",\n ".join(map(str, range(40))) + "]")
        self.assertEqual(self.shown("'y' * 100")[0][-1][1]["text/plain"], repr("y" * 100))

    def test_a_kernel_begins_in_the_folder_of_its_notebook(self):
        (pathlib.Path(self.kernel.folder.name) / "sub").mkdir()
        self.assertEqual(self.shown("import os\nos.path.basename(os.getcwd())", folder="sub")[0][-1][1]["text/plain"], "'sub'")
        self.assertEqual(self.shown("os.chdir('..')\n1", folder="sub")[1]["ok"], True)
        self.assertNotEqual(self.shown("os.path.basename(os.getcwd())", folder="sub")[0][-1][1]["text/plain"], "'sub'")

    def test_names_are_completed(self):
        self.shown("import math\ndef f(first, second=2):\n    'What f does.'\nd = {'key one': 1}")
        for code, matches, start in (("math.fac", ["math.factorial"], 0), ("x = pri", ["print"], 4), ("d['ke", ["key one"], 3), ("import filec", ["filecmp"], 7), ("%timei", ["%timeit"], 0)):
            reply = self.kernel.look("complete_request", code=code, cursor_pos=len(code))
            self.assertEqual((reply["matches"], reply["cursor_start"]), (matches, start))

    def test_names_are_explained(self):
        self.shown("def f(first, second=2):\n    'What f does.'")
        text = self.kernel.look("inspect_request", code="f(1, ", cursor_pos=5, detail_level=1)["data"]["text/plain"]
        for part in ("f(first, second=2)", "What f does.", "def f(first"):
            self.assertIn(part, text)
        self.assertFalse(self.kernel.look("inspect_request", code="nothing", cursor_pos=3)["found"])

    def test_code_is_complete_or_not(self):
        for code, status in (("1", "complete"), ("for i in x:", "incomplete"), ("for i in x:\n    i", "incomplete"), ("for i in x:\n    i\n", "complete"),
                             ("a b", "invalid"), ("!ls", "complete"), ("f(", "incomplete")):
            self.assertEqual(self.kernel.look("is_complete_request", code=code)["status"], status, code)


if __name__ == "__main__":
    embedded.main()
