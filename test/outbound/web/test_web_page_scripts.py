#!/usr/bin/env python3
"""web_page_*.py: what a page becomes, by selector and format, and what the reader says of input that it cannot use."""
import atexit
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from support import embedded

TEXT = embedded.program("web/web_page_reading.py", "web/web_page_renderer.py", "web/web_page_beginning.py")
READER = embedded.Clones(TEXT, "bs4", "lxml.etree")
atexit.register(READER.end)
OPTIONS = {"kind": "html", "base": "http://site.test/dir/page", "format": "text", "selector": None, "max_length": 100_000}


def read(page, **options):
    line = json.dumps(OPTIONS | options) + "\n"
    output, errors, status = READER.run(line.encode() + (page if isinstance(page, bytes) else page.encode()))
    if status or errors:
        raise AssertionError(errors.decode())
    return json.loads(output)


def content(page, **options):
    return read(page, **options)["content"]


@unittest.skipIf("missing" in read("<p>x"), "python3-bs4 and python3-lxml are not installed")
class Pages(unittest.TestCase):
    def test_hidden_elements_scripts_and_comments_are_left_out(self):
        page = "<p>seen<!-- a --><script>b()</script><span hidden>c</span><b style='display: none'>d</b><i aria-hidden=true>e</i>"
        for form in ("text", "markdown"):
            self.assertEqual(content(page, format=form), "seen")
        self.assertNotRegex(content(page, format="html"), "<!--|script|hidden|none|>e<")

    def test_a_page_is_its_main_part_unless_a_selector_asks_for_more(self):
        page = "<title> A\n title </title><nav>menu</nav><main><h1>Head</h1><p>body</p><aside>ad</aside></main><footer>end</footer>"
        answer = read(page)
        self.assertEqual((answer["title"], answer["content"]), ("A title", "Head\n\nbody"))
        self.assertNotIn("matches", answer)
        answer = read(page, selector="nav, footer")
        self.assertEqual((answer["matches"], answer["content"]), (2, "menu\n\nend"))
        self.assertEqual(read(page, selector=".none")["matches"], 0)

    def test_blocks_become_markdown(self):
        cases = {
            "<h2>A <em>b</em></h2><p>c<br>d": "## A *b*\n\nc\nd",
            "<ol><li>one<li>two<ul><li>in</ul></ol>": "1. one\n2. two\n   - in",
            "<pre>\n  a\n   b</pre>": "```\n  a\n   b\n```",
            "<blockquote><p>a<p>b</blockquote>": "> a\n>\n> b",
            "<table><tr><th>a<th>b<tr><td>1|2<td>3</table>": "| a | b |\n| --- | --- |\n| 1\\|2 | 3 |",
            "<a href='../x(y)'>l</a> <a href='javascript:z'>s</a>": "[l](http://site.test/x(y%29) s",
            "<img src=i.png alt='An image'>": "![An image](http://site.test/dir/i.png)",
        }
        for page, markdown in cases.items():
            with self.subTest(page):
                self.assertEqual(content(page, format="markdown", selector="body"), markdown)

    def test_values_of_tables_stand_under_their_headings(self):
        cases = {
            "<table><tr><th rowspan=2>Country<th colspan=2>Exports<tr><th>2023<th>2024<tr><td>Chile<td>5<td>6</table>":
                "| Country | Exports | Exports |\n| --- | --- | --- |\n| Country | 2023 | 2024 |\n| Chile | 5 | 6 |",
            "<table><tr><th>A<th>B<th>C<tr><td>1<td rowspan=3>2<td rowspan=2>3<tr><td>4<tr><td>5</table>":
                "| A | B | C |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| 4 | 2 | 3 |\n| 5 | 2 |  |",
            "<table><thead><tr><th>A<th>B<tbody><tr><td rowspan=0>x<td>1<tr><td>2<tbody><tr><td>y<td>3</table>":
                "| A | B |\n| --- | --- |\n| x | 1 |\n| x | 2 |\n| y | 3 |",
            "<table><tfoot><tr><td>sum<td>3</tfoot><tr><th>A<th>B<tr><td>x<td>3</table>":
                "| A | B |\n| --- | --- |\n| x | 3 |\n| sum | 3 |",
            "<table><tr><th>A<th>B<tr><td colspan=999999>all<tr><td>1<td rowspan=999999>2</table>":
                "| A | B |\n| --- | --- |\n| all |  |\n| 1 | 2 |",
            "<table><tr><th>A<th>B<tr><td>1<br>2<td><table><tr><td>i<td>j<tr><td>k<td>l</table></table>":
                "| A | B |\n| --- | --- |\n| 1 2 | i, j; k, l |",
            "<table><tr><td><table><tr><th>A<th>B<tr><td>1<td>2</table><td>beside</table>":
                "| A | B |\n| --- | --- |\n| 1 | 2 |\n\nbeside",
        }
        for page, markdown in cases.items():
            with self.subTest(page):
                self.assertEqual(content(page, format="markdown"), markdown)
                self.assertEqual(content("<page-part>" + page + "</page-part>", kind="rendered", format="markdown"), markdown)

    def test_spans_of_a_hostile_table_do_not_grow_without_bound(self):
        rows = "".join("<tr><td rowspan=65534 colspan=40>%s" % ("x" * 70) for _ in range(500))
        self.assertLess(len(content("<table>" + rows + "</table>", format="markdown", max_length=1_000_000_000)), 8_000_000)

    def test_marks_that_carry_meaning_stay(self):
        cases = {
            "7<sup>3</sup> CO<sub>2</sub> a<sub>i+1</sub> e<sup>2x-1</sup> 2<sup>nd</sup> said<sup>[4]</sup>": "7^3 CO₂ a_(i+1) e^(2x-1) 2nd said[4]",
            "<math><mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mn>1</mn></mrow></mfrac></math>": "a/(b + 1)",
            "<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>\\frac{x}{2}</annotation></semantics></math>": "\\frac{x}{2}",
            "<math alttext='F=ma'><mi>F</mi></math>": "F=ma",
            "<img src=f.svg alt='{\\displaystyle x^{2}}'>": "x^{2}",
            "<ol start=4><li>a<li value=9>b<li>c</ol>": "4. a\n9. b\n10. c",
            "<ol reversed><li>a<li>b</ol>": "2. a\n1. b",
            "<ol type=a start=26><li>z<li>y</ol>": "z. z\naa. y",
            "<del>90</del> <ins>70</ins>": "~~90~~ 70",
            "<abbr title='Net Present Value'>NPV</abbr> <abbr>x</abbr>": "NPV (Net Present Value) x",
            "<ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>": "東京(とうきょう)",
            "<dl><dt>Term</dt><dd>one</dd><dd>two</dd><dt>Other</dt><dd>three</dd></dl>": "Term\n: one\n: two\n\nOther\n: three",
            "<details><summary>More</summary>inside</details>": "More\n\ninside",
            "<figure><img src=a.png alt=Map><figcaption>The way</figcaption></figure>": "[Map]\n\nThe way",
            "<q>so</q> <input value=given> <input type=password value=no><select><option>a<option selected>b</select>": "“so” given b",
            "<input type=checkbox checked> done <input type=checkbox> open": "[x] done [ ] open",
            "<textarea>draft</textarea><svg role=img aria-label=Yes></svg>": "draft[Yes]",
        }
        for page, text in cases.items():
            with self.subTest(page):
                self.assertEqual(content(page, selector="body"), text)
        self.assertEqual(content("<pre><code class='language-sql'>select `a`\n  -- ```</code></pre>", format="markdown"),
                         "````sql\nselect `a`\n  -- ```\n````")

    def test_where_a_page_leads_by_itself_and_what_it_needs(self):
        for told, address in (("0; url=../n", "http://site.test/n"), ("3;URL='/m?a=1;b'", "http://site.test/m?a=1;b"), ("0, /k", "http://site.test/k")):
            self.assertEqual(read('<meta http-equiv=Refresh content="%s">x' % told)["refresh"], address)
        for page in ("<meta http-equiv=refresh content=5>x", "<meta http-equiv=refresh content='60; url=/n'>x", "<meta http-equiv=refresh content='0; url=javascript:a'>x",
                     "<p>x<noscript><meta http-equiv=refresh content='0; url=/n'></noscript>"):
            self.assertNotIn("refresh", read(page))
        self.assertTrue(read("<div id=app></div><script>a()</script>")["needs_scripts"])
        self.assertTrue(read("<div id=root><p>Loading…</p></div><script src=a></script>")["needs_scripts"])
        self.assertFalse(read("<body></body>")["needs_scripts"])
        for page in ("<p>text</p><script>a()</script>", "<p>x", "<div id=app></div><p>x<script type='application/ld+json'>{}</script>"):
            self.assertNotIn("needs_scripts", read(page))
        answer = read("<p>x</p><iframe src=/f></iframe><iframe srcdoc='<p>inside</p>'></iframe><x-a><template shadowrootmode=open><p>shade</p></template></x-a>")
        self.assertEqual((answer["frames"], answer["content"]), (["http://site.test/f"], "x\n\ninside\n\nshade"))

    def test_links_are_absolute_each_once_and_those_of_hidden_elements_are_not_among_them(self):
        page = "<base href='/root/'><a href=a>A</a><a href=a>again</a><div hidden><a href=b>B</a></div><a href='mailto:x@y'>M</a>"
        answer = read(page, format="links")
        self.assertEqual(answer["links"], [{"text": "A", "url": "http://site.test/root/a"}])
        self.assertEqual(answer["content"], "- [A](http://site.test/root/a)")

    def test_content_is_cut_at_its_length_and_says_so(self):
        answer = read("<p>" + "ä" * 20, max_length=5)
        self.assertEqual((answer["content"], answer["length"], answer["truncated"]), ("äääää", 20, True))

    def test_xml_gives_its_text_and_its_entities_are_not_expanded(self):
        page = "<!DOCTYPE r [<!ENTITY e 'boom'><!ENTITY f SYSTEM 'file:///etc/passwd'>]><r><a>one</a><b>&e;&f;two</b></r>"
        text = content(page, kind="xml")
        self.assertIn("one", text)
        self.assertNotRegex(text, "boom|root:")

    def test_data_for_machines_is_taken_only_by_a_selector_that_names_it(self):
        page = "<script type='application/ld+json'>{\"a\": 1}</script><p>text"
        self.assertEqual(content(page), "text")
        self.assertEqual(content(page, selector="script"), '{"a": 1}')

    def test_what_cannot_be_used_is_a_sentence(self):
        self.assertRegex(read("<p>x", selector="p[")["error"], "^selector: is no valid CSS selector: ")
        deep = read("<b>" * 300_000 + "x")
        self.assertTrue("content" in deep or "nested too deeply" in deep["error"])
        self.assertEqual(content(b"<p>a\xff\0b"), "a\ufffd\ufffdb")

    def test_results_of_a_search_are_without_advertisements_and_a_challenge_is_told(self):
        page = ("<div class=result><a class=result__a href='//d.test/l/?uddg=https%3A%2F%2Fa.test%2F'>A <b>b</b></a><p class=result__snippet>s"
                "</p></div><div class='result result--ad'><a class=result__a href='http://ad.test'>ad</a></div>")
        answer = read(page, kind="results")
        self.assertEqual(answer, {"results": [{"title": "A b", "url": "https://a.test/", "snippet": "s"}], "challenge": False})
        self.assertTrue(read("<form id=challenge-form></form>", kind="results")["challenge"])


if __name__ == "__main__":
    embedded.main()
