#!/usr/bin/env python3
"""The kernel's driver with cells of a client of Jupyter's protocol: events in their order with what is printed, errors, questions about names."""
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
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

    def test_what_a_thread_shows_behind_its_cell_answers_no_call(self):
        self.shown("import os, threading, time\nfrom IPython.display import clear_output\nhandle = display('first', display_id='one')\ndef late():\n    while not os.path.exists('go'):\n        time.sleep(0.01)\n    handle.update('second')\n"
                   "    display('third')\n    clear_output()\n    display({'text/plain': '<big>', 'text/html': 'x' * (2 << 20)}, raw=True)\nthread = threading.Thread(target=late)\nthread.start()")
        (pathlib.Path(self.kernel.folder.name) / "go").touch()
        events = [self.kernel.late_event() for _ in range(4)]
        self.assertEqual([kind for kind, _ in events], ["update_display_data", "display_data", "clear_output", "display_data"])
        self.assertEqual((events[0][1]["data"], events[0][1]["transient"]), ({"text/plain": "'second'"}, {"display_id": "one"}))
        self.assertEqual(events[3][1]["data"], {"text/plain": "<big>"})
        self.assertEqual(self.shown("thread.join()\n1")[0][-1][1], {"text/plain": "1"})

    def test_what_shows_during_a_call_of_tools_is_printed(self):
        self.shown("1")
        self.kernel.execute("display('here')")
        self.assertIn("'here'", self.kernel.output())

    def test_a_task_shows_behind_its_cell(self):
        self.shown("import asyncio\nasync def show():\n    await asyncio.sleep(0)\n    await asyncio.sleep(0.05)\n    display('of a task')\ntask = asyncio.create_task(show())")
        self.assertEqual(self.kernel.late_event(), ("display_data", {"data": {"text/plain": "'of a task'"}, "metadata": {}, "transient": {}}))

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
        self.assertEqual(self.shown("import os\nos.path.basename(os.getcwd())", path="sub")[0][-1][1]["text/plain"], "'sub'")
        self.assertEqual(self.shown("os.chdir('..')\n1", path="sub")[1]["ok"], True)
        self.assertNotEqual(self.shown("os.path.basename(os.getcwd())", path="sub")[0][-1][1]["text/plain"], "'sub'")

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

    def history(self, **wish):
        return [row[1:] for row in self.kernel.look("history_request", **wish)["history"]]

    def test_cells_and_their_values_have_names(self):
        for code in ("20", "_ + 1", "_1 + _2 + Out[2]", "(In[1], _i, _ii, _ih[2], len(Out), In is _ih, Out is _oh)"):
            shown, _ = self.shown(code)
        self.assertEqual(shown[-1][1]["text/plain"], "('20', '_1 + _2 + Out[2]', '_ + 1', '_ + 1', 3, True, True)")
        self.assertEqual(self.shown("_3")[0][-1][1]["text/plain"], "62")
        self.shown("7", store_history=False)
        self.assertEqual(self.shown("len(In), 7 in Out.values()")[0][-1][1]["text/plain"], "(7, False)")

    def test_code_of_tools_counts_along(self):
        self.shown("'first'")
        self.kernel.execute("1")
        self.kernel.execute("2")
        self.assertEqual(self.shown("In")[0][-1][1]["text/plain"], "['', \"'first'\", '', '', 'In']")
        self.assertEqual(self.history(), [[1, "'first'"], [4, "In"]])

    def test_most_values_stay_and_the_oldest_give_way(self):
        self.shown("Out.update((-number, 'filler') for number in range(2000))")
        shown, _ = self.shown("1")
        self.assertEqual(self.shown("len(Out) <= 1000, _2")[0][-1][1]["text/plain"], "(True, 1)")

    def test_the_history_is_found_by_end_range_and_pattern(self):
        for code in ("a = 1", "a", "!true", "b = 2\nb", "a"):
            self.shown(code)
        self.assertEqual(self.history(hist_access_type="tail", n=2, raw=True), [[4, "b = 2\nb"], [5, "a"]])
        self.assertEqual(self.history(hist_access_type="tail", n=0), [])
        self.assertEqual(self.history(hist_access_type="range", session=0, start=2, stop=4, output=True), [[2, ["a", "1"]], [3, ["!true", None]]])
        self.assertEqual(self.history(hist_access_type="range", start=-1), [[5, "a"]])
        self.assertEqual(self.history(hist_access_type="range", session=-1, start=1), [])
        self.assertEqual(self.history(hist_access_type="range", start=3, stop=4, raw=False), [[3, "get_ipython().system('true')"]])
        self.assertEqual(self.history(hist_access_type="search", pattern="?"), [[2, "a"], [5, "a"]])
        self.assertEqual(self.history(hist_access_type="search", pattern="?", unique=True), [[5, "a"]])
        self.assertEqual(self.history(hist_access_type="search", pattern="*=*", n=1), [[4, "b = 2\nb"]])

    def test_a_long_history_has_its_newest_cells(self):
        for number in range(4):
            self.shown(f"# {number} " + "x" * (3 << 20))
        self.assertEqual([number for number, _ in self.history(n=10)], [3, 4])

    def test_history_is_printed(self):
        self.shown("x = 1")
        self.shown("for i in range(2):\n    i")
        self.shown("x")
        self.shown("%history -n -o 1-3")
        self.assertEqual(self.printed(), "|1: x = 1\n2:\nfor i in range(2):\n    i\n3: x\n1\n")
        self.shown("%hist -p -l 1")
        self.assertEqual(self.printed(), "|>>> %hist -p -l 1\n")
        self.shown("%history -f all.txt -g range")
        self.assertIn("for i in range(2)", (pathlib.Path(self.kernel.folder.name) / "all.txt").read_text(encoding="utf-8"))
        self.assertIn("not ~1/2", self.shown("%history ~1/2")[1]["state"]["error"]["evalue"])

    def test_explanations_go_to_the_pager(self):
        self.shown("def f(first):\n    'What f does.'")
        for code, parts in (("f?", ("f(first)", "What f does.")), ("?f", ("f(first)",)), ("f??", ("def f(first):",)), ("%timeit?", ("Measure",)), ("zi*?", ("zip",)), ("%pinfo f", ("f(first)",))):
            payload = self.shown(code)[1]["state"]["payload"]
            self.assertEqual([one["source"] for one in payload], ["page"], code)
            for part in parts:
                self.assertIn(part, payload[0]["data"]["text/plain"])
        self.assertNotIn("payload", self.shown("nothing?")[1]["state"])
        self.assertIn("Object `nothing` not found.", self.printed())

    def test_the_next_cell_is_proposed_once(self):
        payload = self.shown("for number in range(3): get_ipython().set_next_input(f'cell {number}')")[1]["state"]["payload"]
        self.assertEqual(payload, [{"source": "set_next_input", "text": "cell 2", "replace": False}])
        (pathlib.Path(self.kernel.folder.name) / "made.py").write_text("x = 5\n", encoding="utf-8")
        self.assertEqual(self.shown("%load made.py")[1]["state"]["payload"], [{"source": "set_next_input", "text": "# %load made.py\nx = 5\n", "replace": True}])

    def test_leaving_is_the_clients_matter(self):
        self.shown("kept = 3")
        for code in ("exit", "exit()", "quit(0)", "exit()\nkept = 4"):
            answer = self.shown(code)[1]
            self.assertEqual((answer["ok"], answer["state"]["payload"]), (True, [{"source": "ask_exit", "keepkernel": False}]), code)
        self.assertEqual(self.shown("kept")[0][-1][1]["text/plain"], "3")
        self.assertEqual(self.shown("import sys\nsys.exit(2)")[1]["state"]["error"]["ename"], "SystemExit")

    def test_a_cell_asks_its_person(self):
        self.kernel.begin(op="run", code="print('before')\nname = input('Name? ')\nimport getpass\nname, getpass.getpass(), getpass.getpass('')", notebook={"allow_stdin": True})
        asked = []
        while "ok" not in (message := self.kernel.answer()):
            if "ask" in message:
                asked.append(message["ask"])
                self.kernel.send(op="reply", number=message["number"], answer={"value": f"v{len(asked)}"})
            elif message["event"] == "execute_result":
                self.assertEqual(message["content"]["data"]["text/plain"], "('v1', 'v2', 'v3')")
        self.assertEqual(asked, [{"input": "Name? ", "password": False}, {"input": "Password: ", "password": True}, {"input": "", "password": True}])

    def test_a_person_who_left_is_the_end_of_the_input(self):
        self.kernel.begin(op="run", code="try:\n    input()\nexcept EOFError as gone:\n    print(gone)", notebook={"allow_stdin": True})
        while "ask" not in (message := self.kernel.answer()):
            pass
        self.kernel.send(op="reply", number=message["number"], answer={"problem": "gone away"})
        self.assertTrue(self.kernel.events_and_answer()[1]["ok"])
        self.assertIn("gone away", self.kernel.output())

    def test_an_interrupt_ends_a_question_and_the_next_one_is_asked(self):
        self.kernel.begin(op="run", code="try:\n    input('one')\nexcept KeyboardInterrupt:\n    input('two')", notebook={"allow_stdin": True})
        asked = []
        while "ok" not in (message := self.kernel.answer()):
            if message.get("ask", {}).get("input") == "one":
                self.kernel.send(op="interrupt")
            elif "ask" in message:
                self.kernel.send(op="reply", number=message["number"] - 1, answer={"value": "late"})
                self.kernel.send(op="reply", number=message["number"], answer={"value": "in time"})
            asked += [message["ask"]["input"]] if "ask" in message else []
            if message.get("event") == "execute_result":
                self.assertEqual(message["content"]["data"]["text/plain"], "'in time'")
        self.assertEqual((asked, message["ok"]), (["one", "two"], True))

    def test_nobody_is_asked_where_nobody_is(self):
        for code in ("input()", "import getpass; getpass.getpass()"):
            self.assertIn("nobody to ask", self.shown(code)[1]["state"]["error"]["evalue"])
        self.shown("import threading\nseen = []\ndef ask():\n    try: input()\n    except RuntimeError as refused: seen.append(str(refused))\n"
                   "thread = threading.Thread(target=ask)\nthread.start()\nthread.join()", allow_stdin=True)
        self.assertIn("nobody to ask", self.shown("seen")[0][-1][1]["text/plain"])

    def test_variables_and_place_of_the_client(self):
        folder = pathlib.Path(self.kernel.folder.name)
        (folder / "sub").mkdir()
        shown, _ = self.shown("import os\nos.environ['KERNEL_USERNAME'], os.environ['JPY_SESSION_NAME'], os.getcwd()", path="sub/missing/book.ipynb", environment={"KERNEL_USERNAME": "zoë"})
        self.assertEqual(shown[-1][1]["text/plain"].replace("\n", ""), repr(("zoë", f"{folder}/sub/missing/book.ipynb", f"{folder}/sub")))

    def test_the_folder_before_is_found_again(self):
        folder = self.kernel.folder.name
        self.shown("%cd -")
        self.assertEqual(self.shown("%cd /")[1]["ok"], True)
        self.shown("%cd -")
        self.assertEqual(self.printed(), f"|{folder}\n")
        self.shown("%cd -")
        self.assertEqual(self.printed(), "|/\n")

    def test_what_cells_get_without_asking_is_no_variable_of_theirs(self):
        self.shown("mine = 1\nmine")
        self.shown("%who")
        self.assertEqual(self.printed(), "|mine\n")

    def test_questions_of_any_form_are_answered(self):
        for wish in ({}, {"code": None}, {"code": "x", "cursor_pos": -3}, {"code": "x", "cursor_pos": 99}, {"code": "x", "cursor_pos": "1"}):
            for question in ("complete_request", "inspect_request"):
                self.assertEqual(self.kernel.look(question, **wish)["status"], "ok", (question, wish))
        self.assertEqual(self.kernel.look("is_complete_request")["status"], "complete")
        self.shown("élan = {'clé é': 1}")
        for code, matches, start in (("'𝒵'; él", ["élan"], 5), ("'𝒵'; élan['cl", ["clé é"], 11)):
            reply = self.kernel.look("complete_request", code=code, cursor_pos=len(code))
            self.assertEqual((reply["matches"], reply["cursor_start"], reply["cursor_end"]), (matches, start, len(code)))
        self.assertTrue(self.kernel.look("inspect_request", code="élan", cursor_pos=2)["found"])

    def test_code_is_complete_or_not(self):
        for code, status in (("1", "complete"), ("for i in x:", "incomplete"), ("for i in x:\n    i", "incomplete"), ("for i in x:\n    i\n", "complete"),
                             ("a b", "invalid"), ("!ls", "complete"), ("f(", "incomplete")):
            self.assertEqual(self.kernel.look("is_complete_request", code=code)["status"], status, code)


if __name__ == "__main__":
    embedded.main()
