#!/usr/bin/env python3
"""What the kernel gives clients that ask for data beside displays: charts of matplotlib's axes, data frames, containers."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from support import embedded  # noqa: E402


class Cell(unittest.TestCase):
    def setUp(self):
        self.kernel = embedded.Kernel()
        self.addCleanup(self.kernel.end)

    def form(self, code, kind, **options):
        """This form of what the cell shows; None: it shows nothing of the kind."""
        events, _ = self.kernel.cell(code, **{"data_forms": True, **options})
        shown = [content["data"] for _, content in events if "data" in content]
        return next((data[kind] for data in shown if kind in data), None)


class Data(Cell):
    def test_containers_are_json_and_other_values_are_not(self):
        self.assertEqual(self.form("{'a': [1, None, 'x']}", "application/json"), {"a": [1, None, "x"]})
        self.assertIsNone(self.form("[float('nan')]", "application/json"))
        self.assertIsNone(self.form("(1, 2)", "application/json"))

    def test_who_does_not_ask_gets_none(self):
        self.assertIsNone(self.form("[1]", "application/json", data_forms=False))

    def test_a_value_says_itself_what_it_holds(self):
        code = "class Sales:\n    def _repr_e2b_data_(self): return {'may': [3]}\nSales()"
        self.assertEqual(self.form(code, "e2b/data"), {"may": [3]})

    def test_variables_are_those_of_one_cell(self):
        code = "import os\nos.environ.get('DIALECT', 'none')"
        self.assertEqual(self.form(code, "text/plain", variables={"DIALECT": "low"}), "'low'")
        self.assertEqual(self.form(code, "text/plain"), "'none'")
        self.form("os.environ['DIALECT'] = 'high'", "text/plain")
        self.form("1 / 0", "text/plain", variables={"DIALECT": "low"})
        self.assertEqual(self.form(code, "text/plain"), "'high'")

    def test_a_folder_is_made_where_that_is_wished(self):
        folder = self.kernel.folder.name + "/new/inner"
        self.assertEqual(self.form("import os\nos.getcwd()", "text/plain", path=folder, makes_path=True), repr(folder))


class Charts(Cell):
    def setUp(self):
        super().setUp()
        events, answer = self.kernel.cell("import datetime\nimport matplotlib.pyplot as plt\nimport pandas")
        if not answer["ok"]:
            self.skipTest("matplotlib and pandas are not installed")

    def chart(self, code):
        return self.form(code + "\nplt.show()", "e2b/chart")

    def test_lines_have_points_ticks_and_units(self):
        chart = self.chart("plt.plot([0, 1, 2], [5, float('nan'), 7], label='pressure')\nplt.axhline(6)\nplt.xlabel('Time [s]')\nplt.title('Lab')")
        self.assertEqual((chart["type"], chart["title"], chart["x_label"], chart["x_unit"], chart["y_label"]), ("line", "Lab", "Time [s]", "s", None))
        self.assertEqual(chart["elements"], [{"label": "pressure", "points": [[0, 5], [1, None], [2, 7]]}])
        self.assertEqual((chart["x_scale"], len(chart["x_ticks"])), ("linear", len(chart["x_tick_labels"])))

    def test_scales_are_told_apart(self):
        dated = self.chart("plt.plot([datetime.date(2024, 2, day) for day in (1, 2)], [1, 2])")
        self.assertEqual((dated["x_scale"], dated["elements"][0]["points"][1]), ("datetime", ["2024-02-02", 2]))
        self.assertEqual(self.chart("plt.semilogy([1, 10, 100])")["y_scale"], "log")
        self.assertEqual(self.chart("plt.plot(['u', 'v'], [1, 2])")["x_scale"], "categorical")

    def test_points_of_scatters_keep_their_groups(self):
        chart = self.chart("plt.scatter([1, 2], [3, 4], label='a')\nplt.scatter([5], [6], label='b')\nplt.grid()")
        self.assertEqual((chart["type"], chart["elements"]),
                         ("scatter", [{"label": "a", "points": [[1, 3], [2, 4]]}, {"label": "b", "points": [[5, 6]]}]))

    def test_bars_have_the_names_of_their_ticks_in_groups_and_on_their_side(self):
        grouped = self.chart("plt.bar([0.8, 1.8], [1, 2], 0.4, label='m')\nplt.bar([1.2, 2.2], [3, 4], 0.4, label='w')\nplt.xticks([1, 2], ['p', 'q'])")
        self.assertEqual([(bar["label"], bar["group"], bar["value"]) for bar in grouped["elements"]],
                         [("p", "m", 1), ("q", "m", 2), ("p", "w", 3), ("q", "w", 4)])
        lying = self.chart("plt.barh(['u', 'v'], [7, 7])\nplt.xlabel('sum (EUR)')")
        self.assertEqual([(bar["label"], bar["group"], bar["value"]) for bar in lying["elements"]], [("u", "Group 0", 7), ("v", "Group 0", 7)])
        self.assertEqual((lying["y_label"], lying["y_unit"]), ("sum (EUR)", "EUR"))

    def test_pies_have_angles(self):
        chart = self.chart("plt.pie([1, 3], labels=['few', 'many'])")
        self.assertEqual(chart["elements"], [{"label": "few", "angle": 90, "radius": 1}, {"label": "many", "angle": 270, "radius": 1}])

    def test_boxes_have_quartiles_whiskers_and_outliers_either_way(self):
        for turned in "", ", vert=False":
            with self.subTest(turned=turned):
                chart = self.chart(f"plt.boxplot([[1, 2, 3, 4, 20], [5, 6, 7]], patch_artist=True, labels=['a', 'b']{turned})")
                self.assertEqual(chart["type"], "box_and_whisker")
                self.assertEqual(chart["elements"][0], {"label": "a", "min": 1, "first_quartile": 2, "median": 3, "third_quartile": 4, "max": 4, "outliers": [20]})
                self.assertEqual((chart["elements"][1]["label"], chart["elements"][1]["median"]), ("b", 6))

    def test_several_axes_are_one_superchart_and_empty_ones_none(self):
        chart = self.chart("figure, (left, right) = plt.subplots(1, 2)\nfigure.suptitle('Both')\nleft.plot([1, 2])\nright.imshow([[1]])")
        self.assertEqual((chart["type"], chart["title"], [each["type"] for each in chart["elements"]]), ("superchart", "Both", ["line", "unknown"]))
        self.assertIsNone(self.chart("plt.subplots()"))

    def test_data_frames_are_columns(self):
        code = "pandas.DataFrame({'n': [1.5, None], 'at': pandas.to_datetime(['2024-01-02', None]), 3: ['x', 'y']})"
        self.assertEqual(self.form(code, "e2b/data"), {"n": [1.5, None], "at": ["2024-01-02T00:00:00", None], "3": ["x", "y"]})

    def test_what_is_too_much_is_left_out_and_the_picture_stays(self):
        code = "plt.plot(range(200001))\nplt.show()"
        self.assertIsNone(self.form(code, "e2b/chart"))
        self.assertIn("has 200001 values", self.kernel.errors())
        self.assertIsNotNone(self.form(code, "image/png"))


if __name__ == "__main__":
    embedded.main()
