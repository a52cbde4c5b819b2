#!/usr/bin/env python3
"""python_bootstrap.py: output, results, errors and exit codes of a Python run."""
import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support import embedded


class Bootstrap(unittest.TestCase):
    def run_code(self, code):
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as result:
            source.write(code.encode())
            source.seek(0)
            run = embedded.Run(embedded.program("runs/python_figures.py", "runs/python_bootstrap.py"), ["/tmp"],
                               {3: source.fileno(), 4: result.fileno()})
            self.addCleanup(run.end)
            run.wait()
            result.seek(0)
            text = result.read()
        return run, json.loads(text) if text else None

    def test_prints_and_reports_the_value_of_the_underscore(self):
        run, result = self.run_code("print('hé', 1)\n_ = {'a': [1, 2.5, None]}")
        self.assertEqual((run.status, run.out, run.err, result), (0, "hé 1\n", "", {"a": [1, 2.5, None]}))

    def test_reports_nothing_without_the_underscore(self):
        self.assertIsNone(self.run_code("x = 1")[1])

    def test_a_value_without_json_form_is_reported_as_text(self):
        for code, text in (("_ = {1, 2}", "{1, 2}"), ("_ = float('nan')", "nan"), ("_ = 1 << 70", str(1 << 70))):
            self.assertEqual(self.run_code(code)[1], text)

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

    def test_lines_of_threads_stay_whole(self):
        run, _ = self.run_code("import threading\ndef f(n):\n    for i in range(200): print('x' * n, 'y' * n)\n"
                               "ts = [threading.Thread(target=f, args=(n,)) for n in (10, 20, 30)]\n"
                               "for t in ts: t.start()\nfor t in ts: t.join()")
        self.assertEqual(sorted(set(run.out.splitlines())), [f"{'x' * n} {'y' * n}" for n in (10, 20, 30)])


if __name__ == "__main__":
    embedded.main()
