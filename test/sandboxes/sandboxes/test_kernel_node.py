#!/usr/bin/env python3
"""The kernel of JavaScript and TypeScript: cells that see each other's names, results, errors, interrupts, questions about code."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from support import embedded  # noqa: E402
from support.patience import until  # noqa: E402

DRIVER = (pathlib.Path(__file__).resolve().parents[3] / "source/sandboxes/kernels/kernel_node.js").read_text()
NODE = shutil.which("node")


class Process:
    def __init__(self, folder, channel):
        self.path = pathlib.Path(folder)
        with open(self.path / "out", "wb") as out, open(self.path / "err", "wb") as err:
            self.program = subprocess.Popen(["sh", "-c", f'exec "$0" --expose-internals --no-warnings -e "$1" "$2" 3<&{channel}', NODE, DRIVER, folder],
                                            pass_fds=[channel], stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder)

    out = property(lambda self: (self.path / "out").read_text())
    err = property(lambda self: (self.path / "err").read_text())

    def end(self):
        self.program.kill()
        self.program.wait()


class NodeKernel(embedded.Kernel):
    def __init__(self):
        embedded.Peer.__init__(self)
        self.number = self.printed = 0
        self.folder = tempfile.TemporaryDirectory()
        self.run = Process(self.folder.name, self.theirs.fileno())
        self.theirs.close()
        self.send(op="programs")


class Cells(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if NODE is None:
            raise unittest.SkipTest("Node.js is not installed")

    def setUp(self):
        self.kernel = NodeKernel()
        self.addCleanup(self.kernel.end)

    def result(self, code, **options):
        """The text of the cell's value; an error fails the test."""
        events, answer = self.kernel.cell(code, **options)
        self.assertNotIn("error", answer["state"])
        return next((content["data"]["text/plain"] for kind, content in events if kind == "execute_result"), None)

    def error(self, code, **options):
        return self.kernel.cell(code, **options)[1]["state"]["error"]

    def test_the_last_expression_is_the_result(self):
        for code, text in (("1 + 1", "2"), ("({a: 1})", "{ a: 1 }"), ("'a;b';", "'a;b'"), ("(function () { return 4 })();  // why", "4"), ("`${[1, 2]}`", "'1,2'"),
                           ("let unseen = 1", None), ("if (true) { 5 }", None), ("// nothing", None), ("undefined", None), ("await Promise.resolve(7)", "7")):
            with self.subTest(code=code):
                self.assertEqual(self.result(code), text)

    def test_names_are_of_all_cells_and_may_be_made_anew(self):
        self.result("const a = 1, {b, c: [d]} = {b: 2, c: [3]}; let e; class K { v() { return 'old' } }\nfunction f() { return 'f of ' + g() }\nfunction g() { return 'one' }")
        self.assertEqual(self.result("[a, b, d, e, new K().v(), f()]"), "[ 1, 2, 3, undefined, 'old', 'f of one' ]")
        self.result("const a = 10; class K { v() { return 'new' } }; function g() { return 'two' }")
        self.assertEqual(self.result("[a, new K().v(), f()]"), "[ 10, 'new', 'f of two' ]")
        self.assertEqual(self.result("early(); function early() { return 'hoisted' }"), None)
        self.assertEqual(self.result("early()"), "'hoisted'")

    def test_modules_are_imported_in_every_way(self):
        pathlib.Path(self.kernel.folder.name, "own.mjs").write_text("export default 'd'; export const named = 'n'")
        self.assertEqual(self.result("import { sep as s } from 'path'; import fs, * as all from 'node:fs'; import own, { named } from './own.mjs'\n"
                                     "[s, typeof fs.readFileSync, typeof all.statSync, own, named]"), "[ '/', 'function', 'function', 'd', 'n' ]")
        self.assertEqual(self.result("[(await import('./own.mjs')).named, require('path').sep, (() => import('os'))() instanceof Promise]"), "[ 'n', '/', true ]")
        self.assertEqual(self.result("export const out = 1; export function twice(n) { return 2 * n }\ntwice(out)"), "2")
        self.assertEqual(self.error("import 'no-such-module'")["ename"], "Error")

    def test_names_of_the_program_are_free(self):
        self.assertEqual(self.result("const fs = 1, path = 2, job = 3, send = 4, turn = 5; fs + path + job + send + turn"), "15")
        self.assertEqual(self.result("fs"), "1")

    def test_what_is_printed_stands_before_what_is_shown(self):
        events, _ = self.kernel.cell("console.log('a'); display({x: 1}); console.log('b'); console.error('c'); 'd'")
        self.assertEqual([kind for kind, _ in events], ["execute_input", "display_data", "execute_result"])
        self.assertEqual(self.kernel.output().replace(f"<{self.kernel.number}\x1d", "|"), "|a\n|b\n|")
        self.assertIn("c\n", self.kernel.errors())

    def test_values_have_forms(self):
        events, _ = self.kernel.cell("display({[Symbol.for('Jupyter.display')]() { return {'text/html': '<b>' } }}); [1, {a: null}]", data_forms=True)
        self.assertEqual(events[1][1]["data"]["text/html"], "<b>")
        self.assertEqual(events[2][1]["data"]["application/json"], [1, {"a": None}])

    def test_errors_name_lines_of_cells_and_none_of_the_program(self):
        error = self.error("\nfunction broken() {\n  throw new TypeError('bad')\n}\nbroken()")
        self.assertEqual((error["ename"], error["evalue"]), ("TypeError", "bad"))
        self.assertTrue(all("[eval]" not in line for line in error["traceback"]))
        self.assertEqual(self.error("let y = ;")["ename"], "SyntaxError")
        self.assertEqual(self.error("throw 5")["evalue"], "5")
        self.assertIsNone(self.result("process.exit(3)"))
        self.assertEqual(self.result("'still here'"), "'still here'")

    def test_running_and_waiting_code_is_interrupted_and_variables_stay(self):
        self.result("var kept = 1")
        for code in "console.log('begun'); while (true) {}", "console.log('begun'); await new Promise(() => {})":
            self.kernel.begin(op="run", code=code, notebook={})
            until("the code runs", lambda: "begun" in self.kernel.run.out.partition(f"<{self.kernel.number}\x1d")[2])
            self.kernel.send(op="interrupt")
            _, answer = self.kernel.events_and_answer()
            self.assertIn("interrupted", answer["state"]["error"]["evalue"])
        events, answer = self.kernel.cell("kept = 2; while (true) {}", interrupted=True)
        self.assertIn("interrupted", answer["state"]["error"]["evalue"])
        self.assertIn(self.result("kept"), "12")

    def test_variables_and_folders_are_those_of_the_client(self):
        folder = self.kernel.folder.name + "/made"
        self.assertEqual(self.result("process.cwd()", path=folder, makes_path=True, environment={"V": "all"}), repr(folder))
        self.assertEqual(self.result("process.env.V", variables={"V": "one"}), "'one'")
        self.assertEqual(self.result("process.env.V"), "'all'")

    def test_types_are_taken_away_by_the_compiler_that_is_there(self):
        package = pathlib.Path(self.kernel.folder.name, "node_modules/typescript")
        package.mkdir(parents=True)
        (package / "index.js").write_text("exports.transpileModule = (code) => ({ outputText: code.replace(/: number/g, '') })")
        self.assertEqual(self.result("const n: number = 4; n", typescript=True), "4")

    def test_questions_are_answered(self):
        self.result("var someone = { something: 1 }")
        self.assertEqual(self.kernel.look("complete_request", code="x = someone.so", cursor_pos=14), {"status": "ok", "matches": ["something"], "cursor_start": 12, "cursor_end": 14, "metadata": {}})
        for code, status in (("f(", "incomplete"), ("function z() {\n", "incomplete"), ("`a", "incomplete"), ("1 +", "incomplete"), ("let = = ", "invalid"), ("let a = 1", "complete")):
            self.assertEqual(self.kernel.look("is_complete_request", code=code)["status"], status, code)
        self.assertEqual(self.kernel.look("kernel_info_request")["language_info"]["name"], "javascript")

    def test_state_is_refused(self):
        self.kernel.begin(op="keep")
        self.assertIn("neither kept nor copied", self.kernel.answer()["reason"])


if __name__ == "__main__":
    embedded.main()
