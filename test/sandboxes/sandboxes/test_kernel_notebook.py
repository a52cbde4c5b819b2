#!/usr/bin/env python3
"""The kernel as code written for notebooks expects it: displays, magics, commands, asynchronous code, tracebacks."""
import base64
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from support import embedded
from support.patience import until

PIXEL = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


class Notebook(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.kernel = embedded.Kernel(self.folder.name)
        self.addCleanup(self.kernel.end)

    def run_cell(self, code):
        self.answer = self.kernel.execute(code)
        return self.answer.get("result")

    def printed(self, code):
        self.run_cell(code)
        return self.kernel.output()

    def fails(self, code):
        self.run_cell(code)
        self.assertFalse(self.answer["ok"])
        return self.kernel.errors()

    def shown(self):
        return [(each["mime_types"], each["files"]) for each in self.answer.get("displays", [])]


class Displays(Notebook):
    def test_what_is_displayed_stands_in_its_place_among_what_is_printed(self):
        text = self.printed("print('a')\ndisplay('b', 3)\nprint('c')")
        self.assertEqual(text, "a\n'b'\n3\nc\n")
        self.assertEqual(self.shown(), [(["text/plain"], {})] * 2)

    def test_html_becomes_a_file_and_its_words_are_shown(self):
        text = self.printed("from IPython.display import display, HTML\ndisplay(HTML('<h1>One</h1><script>no</script><p>two <b>three</b></p>'))")
        self.assertEqual(text, "One\ntwo three\n")
        (kinds, files), = self.shown()
        self.assertEqual(kinds, ["text/plain", "text/html"])
        self.assertIn("<script>", (self.path / files["text/html"]).read_text())

    def test_markdown_and_latex_are_text(self):
        self.assertEqual(self.printed("from IPython.display import Markdown, Latex, Math\ndisplay(Markdown('# T'), Latex('$x$'), Math('y'))"),
                         "# T\n$x$\n$\\displaystyle y$\n")
        self.assertFalse((self.path / ".displays").exists())

    def test_a_picture_becomes_a_file_whose_name_stands_in_its_place(self):
        text = self.printed(f"import base64\nfrom IPython.display import Image\ndisplay(Image(data=base64.b64decode('{PIXEL}')))\nprint('on')")
        self.assertEqual(text, "<IPython.core.display.Image object> [.displays/0001.png]\non\n")
        self.assertEqual((self.path / ".displays/0001.png").read_bytes(), base64.b64decode(PIXEL))

    def test_the_last_value_shows_its_forms(self):
        code = ("class Both:\n    def _repr_html_(self): return '<p>html</p>'\n    def _repr_png_(self): return b'png', {'width': 3}\n"
                "    def __repr__(self): return 'both'\nBoth()")
        self.assertEqual(self.run_cell(code), "both [.displays/0002.png]")
        one, = self.answer["displays"]
        self.assertEqual(one, {"mime_types": ["text/plain", "text/html", "image/png"], "is_result": True,
                               "files": {"text/html": ".displays/0001.html", "image/png": ".displays/0002.png"}})
        self.assertEqual((self.path / ".displays/0002.png").read_bytes(), b"png")

    def test_a_bundle_gives_all_forms_at_once(self):
        code = ("class Chart:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
                "        return {'application/vnd.vegalite.v5+json': {'mark': 'bar'}, 'text/plain': 'chart'}\nChart()")
        self.assertEqual(self.run_cell(code), "chart")
        (kinds, files), = self.shown()
        self.assertEqual(json.loads((self.path / files["application/vnd.vegalite.v5+json"]).read_text()), {"mark": "bar"})

    def test_a_form_that_fails_is_told_and_the_others_are_shown(self):
        self.run_cell("class Bad:\n    def _repr_html_(self): return 'fine'\n    def _repr_svg_(self): raise ValueError('broken')\nBad()")
        self.assertEqual(self.shown()[0][0], ["text/plain", "text/html"])
        self.assertIn("_repr_svg_: ValueError: broken", self.kernel.errors())

    def test_an_object_that_answers_to_every_name_is_plain(self):
        self.assertEqual(self.run_cell("class Any:\n    def __getattr__(self, name): return lambda *v, **o: 'x'\n    def __repr__(self): return 'any'\nAny()"), "any")
        self.assertEqual(self.shown(), [])

    def test_files_of_displays_are_bounded(self):
        self.run_cell("from IPython.display import HTML")
        for _ in range(2):
            self.run_cell("for i in range(120): display(HTML(str(i)))")
            self.assertEqual(len(self.answer["displays"]), 100)
        self.assertLessEqual(len(list((self.path / ".displays").iterdir())), 60)

    def test_cleared_output_takes_its_files_along(self):
        self.run_cell("from IPython.display import HTML, clear_output\nfor i in range(3):\n    clear_output(wait=True)\n    display(HTML('<p>%d</p>' % i))")
        self.assertEqual([path.read_text() for path in (self.path / ".displays").iterdir()], ["<p>2</p>"])
        self.assertEqual(len(self.shown()), 1)

    def test_what_would_open_a_browser_is_displayed(self):
        for name, text in (("bokeh/__init__.py", ""), ("bokeh/io/__init__.py", "from bokeh.io.showing import show\n"), ("bokeh/io/showing.py", "def show(value): raise SystemExit('a window')\n"),
                           ("bokeh/embed.py", "def file_html(value, resources): return resources + value\n"), ("bokeh/resources.py", "CDN = '<p>of bokeh: '\n")):
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.printed("import bokeh.io\nbokeh.io.show('plot')")
        (kinds, files), = self.shown()
        self.assertEqual((self.path / files["text/html"]).read_text(), "<p>of bokeh: plot")

    def test_a_semicolon_hides_the_value(self):
        self.assertIsNone(self.run_cell("5;"))
        self.assertIsNone(self.run_cell("None"))

    def test_all_values_are_shown_where_the_notebook_wants_it(self):
        self.run_cell("from IPython.core.interactiveshell import InteractiveShell\nInteractiveShell.ast_node_interactivity = 'all'")
        self.assertEqual(self.printed("1\n2\n3"), "1\n2\n")
        self.assertEqual(self.answer["result"], 3)

    def test_figures_are_shown_once_at_the_end_and_closed(self):
        if "ModuleNotFoundError" in self.fails("import matplotlib.pyplot as plt\nimport no_such"):
            if "matplotlib" in self.kernel.errors():
                self.skipTest("matplotlib is not installed")
        self.assertEqual(self.printed("plt.plot([1, 2]);"), "<Figure size 640x480 with 1 Axes> [plot-1.png]\n")
        self.assertEqual(self.printed("plt.plot([1]); plt.show(); print('on')"), "<Figure size 640x480 with 1 Axes> [plot-2.png]\non\n")
        self.assertEqual(self.printed("plt.plot([1]); plt.savefig('own.png')"), "")
        self.assertEqual(self.run_cell("plt.get_fignums()"), [])
        self.assertEqual(self.run_cell("fig, axes = plt.subplots(); fig"), "<Figure size 640x480 with 1 Axes> [.displays/0001.png]")
        self.assertEqual(sorted(path.name for path in self.path.glob("*.png")), ["own.png", "plot-1.png", "plot-2.png"])

    def need(self, module):
        if "ModuleNotFoundError" in self.fails(f"import {module}\nimport no_such") and module in self.kernel.errors():
            self.skipTest(f"{module} is not installed")

    def test_figures_of_plotly_are_shown_once_however_it_is_said(self):
        self.need("plotly")
        self.run_cell("import plotly.graph_objects as go, plotly.io as pio\nfigure = go.Figure(go.Bar(x=[1, 2], y=[3, 4]))")
        for code in "figure", "figure.show()", "pio.show(figure)", "pio.show(figure.to_dict())", "display(figure)":
            self.run_cell(code)
            (kinds, files), = self.shown()
            self.assertEqual(kinds[:3], ["text/plain", "application/vnd.plotly.v1+json", "text/html"], code)
            data = json.loads((self.path / files["application/vnd.plotly.v1+json"]).read_text())["data"]
            self.assertEqual((data[0]["type"], data[0]["y"]), ("bar", [3, 4]))
            self.assertLess((self.path / files["text/html"]).stat().st_size, 100_000)

    def test_charts_of_altair_are_shown_once_however_it_is_said(self):
        self.need("altair")
        self.run_cell("import altair\nchart = altair.Chart(altair.Data(values=[{'a': 1}])).mark_bar().encode(x='a:Q')")
        for code in "chart", "chart.show()", "chart.display()":
            self.run_cell(code)
            (kinds, files), = self.shown()
            self.assertRegex(kinds[-1], r"^application/vnd.vegalite.v\d\+json$", code)
            self.assertEqual(json.loads((self.path / files[kinds[-1]]).read_text())["mark"], "bar")


class Magics(Notebook):
    def test_commands_print_in_their_place_and_see_variables(self):
        self.assertEqual(self.printed("n = 4\nprint('a')\n!echo {n + 1} $n\nprint('b')"), "a\n5 4\nb\n")
        self.assertEqual(self.run_cell("words = !printf 'x\\ny'\nwords"), ["x", "y"])
        self.assertEqual(self.run_cell("words.s"), "x y")
        self.assertEqual(self.run_cell("!exit 3\n_exit_code"), 3)
        self.assertEqual(self.printed("for i in range(2):\n    if i:\n        !echo {i} \\\n  on\n    else:\n        pass"), "1 on\n")

    def test_cells_of_other_programs(self):
        self.assertEqual(self.printed("%%bash\nfor i in 1 2; do\n  echo $i\ndone"), "1\n2\n")
        self.assertIn("CalledProcessError", self.fails("%%bash\nexit 2"))
        self.assertEqual(self.printed("%%writefile made.txt\none\ntwo\n"), "Writing made.txt\n")
        self.assertEqual((self.path / "made.txt").read_text(), "one\ntwo\n")
        self.assertEqual(self.run_cell("%%capture held\nprint('kept')"), None)
        self.assertEqual(self.run_cell("held.stdout"), "kept\n")

    def test_times(self):
        self.assertRegex(self.printed("%time x = sum(range(10))"), r"CPU times: total: .+\nWall time: .+\n")
        self.assertEqual(self.run_cell("%time x + 1"), 46)
        self.assertRegex(self.printed("%timeit -n 5 -r 2 x + 1"), r"per loop \(mean ± std. dev. of 2 runs, 5 loops each\)")
        self.assertRegex(self.printed("%%time\nimport asyncio\ny = await asyncio.sleep(0, 7)"), "Wall time")
        self.assertEqual(self.run_cell("y"), 7)

    def test_folder_environment_and_names(self):
        self.assertEqual(self.printed("%cd /usr"), "/usr\n")
        self.assertEqual(self.run_cell("%pwd"), "/usr")
        self.run_cell("%env MARK=m")
        self.assertEqual(self.run_cell("import os\n%env MARK"), "m")
        self.assertEqual(self.printed("a = 1\nb = 'x'\n%who"), "a\tb\n")
        self.assertEqual(self.run_cell("%who_ls int"), ["a"])
        self.assertEqual(self.printed("%matplotlib inline\n%load_ext autoreload\nprint(a)"), "1\n")

    def test_an_unknown_magic_names_the_known_ones(self):
        self.assertRegex(self.fails("x = 1\n%nothing"), r"line 2, in <module>\n    %nothing\nNameError: %nothing is no magic .* %cd, .* %%bash")
        self.assertRegex(self.fails("%%nothing\nx"), r"NameError: %%nothing is no magic for a whole cell")

    def test_text_and_expressions_that_look_like_magics_stay(self):
        self.assertEqual(self.run_cell("a, b = 7, 4\ntext = '''\n%cd\n!ls\n'''\n[(a\n%b), text]"), [3, "\n%cd\n!ls\n"])
        self.assertEqual(self.printed("text = '''\n!ls\n'''\n!echo one\nprint(text)"), "one\n\n!ls\n\n")
        self.assertIn("SyntaxError", self.fails("x = = 3 % 2"))
        for code in ("  x = 1\n y = 2", "  x = = 1", "%time x = = 1", "!echo\nx = = 1"):
            told = self.fails(code)
            self.assertNotIn("During handling", told)
            self.assertNotIn("ast.py", told)

    def test_packages_are_asked_of_the_server(self):
        self.kernel.begin(op="run", code="!pip install -q six 'rich>=1' 2>&1 | tail -1 && echo after\nprint('done')")
        question = self.kernel.message()
        self.assertEqual(question["ask"], {"install": ["six", "rich>=1"]})
        self.kernel.send(op="reply", number=question["number"] - 1, answer={"problem": "of another question"})
        self.kernel.send(op="reply", number=question["number"], answer={"installed": ["six==1.16"], "output": "fetched\n"})
        self.assertEqual(self.kernel.answer(), {"ok": True, "exit": 0})
        self.assertEqual(self.kernel.output(), "fetched\nInstalled: six==1.16\nafter\ndone\n")
        self.kernel.begin(op="run", code="%pip install none")
        self.kernel.send(op="reply", number=self.kernel.message()["number"], answer={"problem": "There is no none."})
        self.assertFalse(self.kernel.answer()["ok"])
        self.assertIn("RuntimeError: There is no none.", self.kernel.errors())
        self.assertIn("not -e", self.fails("%pip install -e ."))

    def test_help_and_the_shell(self):
        self.assertIn("Return the number of items", self.printed("len?"))
        self.assertEqual(self.run_cell("get_ipython().run_line_magic('pwd', '')"), str(self.path.resolve()))
        self.assertEqual(self.run_cell("from IPython.core.magic import register_line_magic\n@register_line_magic\ndef twice(line): return line * 2\n%twice ab"), "abab")

    def test_input_is_refused_with_advice(self):
        self.assertIn("assign the value to a variable", self.fails("input('name? ')"))


class Asynchronous(Notebook):
    def test_await_async_for_and_with_at_the_top(self):
        self.run_cell("import asyncio, contextlib\nasync def f(n):\n    await asyncio.sleep(0)\n    return n\n"
                      "async def numbers():\n    for i in range(3): yield i\n@contextlib.asynccontextmanager\nasync def held(): yield 'h'")
        self.assertEqual(self.run_cell("await f(3)"), 3)
        self.assertEqual(self.run_cell("found = []\nasync for i in numbers(): found.append(i)\nasync with held() as h: found.append(h)\nfound"), [0, 1, 2, "h"])
        self.assertEqual(self.run_cell("asyncio.run(f(5)) + await f(1)"), 6)

    def test_tasks_live_from_cell_to_cell_and_go_on_between_them(self):
        self.run_cell("import asyncio, os\nasync def write():\n    await asyncio.sleep(0.01)\n    open('written', 'w').close()\n    return 4\ntask = asyncio.create_task(write())")
        until("the task writes", (self.path / "written").exists)
        self.assertEqual(self.run_cell("await task"), 4)

    def test_an_interrupt_ends_what_is_awaited(self):
        self.kernel.begin(op="run", code="import asyncio\nx = 1\nprint('up', flush=True)\nawait asyncio.sleep(1000)")
        until("the code begins", lambda: "up" in self.kernel.run.out)
        self.kernel.send(op="interrupt")
        self.assertEqual(self.kernel.answer(), {"ok": False, "exit": 130})
        self.assertEqual(self.run_cell("await asyncio.sleep(0, x)"), 1)


class Errors(Notebook):
    def test_tracebacks_have_the_lines_of_every_cell_and_no_frame_of_the_kernel(self):
        self.run_cell("def inner():\n    raise ValueError('x')")
        told = self.fails("import asyncio\nasync def outer(): inner()\nawait outer()")
        self.assertRegex(told, r'^Traceback .*\n  File "In\[2\]", line 3, in <module>\n    await outer\(\)\n  File "In\[2\]", line 2')
        self.assertIn('  File "In[1]", line 2, in inner\n    raise ValueError(\'x\')\nValueError: x\n', told)
        self.assertRegex(self.fails("x = ("), r'^  File "In\[3\]", line 1\n')
        self.assertIn("In[4]", self.fails("try:\n    1 / 0\nexcept Exception as e:\n    raise KeyError from e"))

    def test_time_and_memory_of_a_call(self):
        self.run_cell("data = bytearray(50_000_000)\nsum(range(1_000_000))")
        cpu, peak = self.kernel.used
        self.assertGreater(cpu, 1000)
        self.assertGreater(peak, 50_000_000)


if __name__ == "__main__":
    embedded.main()
