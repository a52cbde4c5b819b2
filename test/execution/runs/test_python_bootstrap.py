#!/usr/bin/env python3
"""python_bootstrap.py: output, results, errors and exit codes of a Python run."""
import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from support import embedded


class Bootstrap(unittest.TestCase):
    def run_code(self, code, *arguments):
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as result:
            source.write(code.encode())
            source.seek(0)
            run = embedded.Run(embedded.program("jail/python_common.py", "jail/python_figures.py", "runs/python_bootstrap.py"), ["/tmp", *arguments],
                               {3: source.fileno(), 4: result.fileno()})
            self.addCleanup(run.end)
            run.wait()
            result.seek(0)
            self.files = sorted(path.name for path in run.path.iterdir())
            text = result.read()
        answer = json.loads(text) if text else {"value": None}
        self.is_repr = "repr" in answer
        return run, answer["repr" if self.is_repr else "value"]

    def test_prints_and_reports_the_value_of_the_underscore(self):
        run, result = self.run_code("print('hé', 1)\n_ = {'a': [1, 2.5, None]}")
        self.assertEqual((run.status, run.out, run.err, result), (0, "hé 1\n", "", {"a": [1, 2.5, None]}))

    def test_reports_nothing_without_the_underscore(self):
        self.assertIsNone(self.run_code("x = 1")[1])

    def test_a_value_without_json_form_is_reported_as_text(self):
        for code, text in (("_ = {1, 2}", "{1, 2}"), ("_ = float('nan')", "nan"), ("_ = 1 << 70", str(1 << 70)), ("_ = {1: 'a', '1': 'b'}", "{1: 'a', '1': 'b'}"),
                           ("_ = ['a', ('b', True)]", "['a', ('b', True)]"), ("_ = 'caf\\udce9'", "'caf\\udce9'"), ("_ = [[1e400]]", "[[inf]]"),
                           ("_ = []\n_.append(_)", "[[...]]"), ("class S(str): pass\n_ = S('s')", "'s'")):
            with self.subTest(code=code):
                self.assertEqual((self.run_code(code)[1], self.is_repr), (text, True))

    def test_a_repr_that_raises_is_named(self):
        self.assertIn("its repr() raised ZeroDivisionError", self.run_code("class A:\n    def __repr__(self): 1/0\n_ = A()")[1])

    def test_a_traceback_begins_in_the_code_of_the_caller(self):
        run, _ = self.run_code("def f():\n    1 / 0\nf()")
        self.assertEqual(run.status, 1)
        self.assertEqual(run.err.count("File "), 2)
        self.assertIn('File "<code>", line 2, in f\n    1 / 0', run.err)

    def test_exit_codes(self):
        for code, status, err in (("import sys; sys.exit(3)", 3, ""), ("import sys; sys.exit('no')", 1, "no\n"), ("raise SystemExit", 0, "")):
            run, _ = self.run_code(code)
            self.assertEqual((run.status, run.err), (status, err))

    def test_a_child_that_falls_off_the_end_reports_no_result(self):
        run, result = self.run_code("import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\n_ = 'parent' if pid else 'child'")
        self.assertEqual((run.status, result), (0, "parent"))

    def test_names_of_the_bootstrap_are_not_in_the_way(self):
        run, result = self.run_code("_ = sorted(name for name in globals() if not name.startswith('__'))")
        self.assertEqual(result, [])

    def test_functions_of_the_caller_are_found_in_main(self):
        self.assertTrue(self.run_code("import pickle\ndef f(): pass\n_ = pickle.loads(pickle.dumps(f)) is f")[1])

    def test_workers_that_are_started_anew_run_the_code_from_a_file(self):
        for method in ("spawn", "forkserver"):
            run, result = self.run_code(f"import multiprocessing as mp\nclass A:\n    n = 4\ndef f(x): return A, x + A.n\nif __name__ == '__main__':\n"
                                        f"    with mp.get_context({method!r}).Pool(2) as pool: _ = [n for kind, n in pool.map(f, [1, 2]) if kind is A]")
            self.assertEqual((run.status, run.err, result), (0, "", [5, 6]))

    def test_the_code_has_a_file_name_in_its_folder_and_a_source(self):
        run, result = self.run_code("import inspect, os, sys\nclass A:\n    def m(self): pass\ndef f(): return 1\n"
                                    "_ = [os.path.dirname(__file__) == os.getcwd(), sys.argv == [__file__], __spec__ is None, inspect.getsource(A), inspect.getsource(f)]")
        self.assertEqual((run.err, result), ("", [True, True, True, "class A:\n    def m(self): pass\n", "def f(): return 1\n"]))

    def test_bytes_are_there_when_the_program_is_killed(self):
        run, _ = self.run_code("import os, sys\nprint('text', end='')\nsys.stdout.buffer.write(b' bytes')\nos.kill(os.getpid(), 9)")
        self.assertEqual(run.out, "text bytes")

    def test_an_error_is_seen_without_streams(self):
        run, _ = self.run_code("import sys\nsys.stdout = sys.stderr = None\n1 / 0")
        self.assertEqual(run.status, 1)
        self.assertIn("ZeroDivisionError", run.err)

    def test_code_that_changes_modules_and_builtins_has_its_result(self):
        run, result = self.run_code("import builtins, json, os\nbuiltins.len = json.dumps = os.write = os.getpid = None\n_ = [1, 2.0]")
        self.assertEqual((run.status, result), (0, [1, 2.0]))

    LIBRARIES = {
        "plotly/__init__.py": "", "plotly/basedatatypes.py": "class BaseFigure:\n    def to_html(self, include_plotlyjs): return '<p>plotly'\n    def show(self): raise SystemExit('a window')\n",
        "bokeh/__init__.py": "", "bokeh/io/__init__.py": "from bokeh.io.showing import show\n", "bokeh/io/showing.py": "def show(value): raise SystemExit('a window')\n",
        "bokeh/embed.py": "def file_html(value, resources): return resources + value\n", "bokeh/resources.py": "CDN = '<p>bokeh '\n",
        "PIL/__init__.py": "", "PIL/Image.py": "class Image:\n    mode = 'RGB'\n    def save(self, file, kind): file.write(kind.encode())\n    def show(self): raise SystemExit('a window')\n",
    }

    def test_what_would_open_a_window_becomes_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in self.LIBRARIES.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            run, result = self.run_code(f"import sys\nsys.path.insert(0, {folder!r})\nimport plotly.basedatatypes, bokeh.io, PIL.Image, webbrowser\nplotly.basedatatypes.BaseFigure().show()\n"
                                        "bokeh.io.show('plot')\nPIL.Image.Image().show()\n_ = [open(name).read() for name in ('plot-1.html', 'plot-2.html', 'plot-1.png')]\n"
                                        "_.append(webbrowser.open('http://localhost:80'))", "figures")
        self.assertEqual(result, ["<p>plotly", "<p>bokeh plot", "PNG", False], run.err)
        self.assertEqual(run.err, "show() has saved plot-1.html.\nshow() has saved plot-2.html.\nshow() has saved plot-1.png.\nNo browser is here to open http://localhost:80.\n")

    def test_lines_of_threads_stay_whole(self):
        run, _ = self.run_code("import threading\ndef f(n):\n    for i in range(200): print('x' * n, 'y' * n)\n"
                               "ts = [threading.Thread(target=f, args=(n,)) for n in (10, 20, 30)]\n"
                               "for t in ts: t.start()\nfor t in ts: t.join()")
        self.assertEqual(sorted(set(run.out.splitlines())), [f"{'x' * n} {'y' * n}" for n in (10, 20, 30)])


if __name__ == "__main__":
    embedded.main()
