#!/usr/bin/env python3
"""web_page_*.py: what a page becomes, by selector and format, and what the reader says of input that it cannot use."""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support import embedded

TEXT = embedded.program("web/web_page_reading.py", "web/web_page_renderer.py", "web/web_page_beginning.py")
OPTIONS = {"kind": "html", "base": "http://site.test/dir/page", "format": "text", "selector": None, "max_length": 100_000}


def read(page, **options):
    line = json.dumps(OPTIONS | options) + "\n"
    done = subprocess.run([embedded.PYTHON, "-I", "-c", TEXT], input=line.encode() + (page if isinstance(page, bytes) else page.encode()),
                          capture_output=True, timeout=embedded.PATIENCE)
    if done.returncode or done.stderr:
        raise AssertionError(done.stderr.decode())
    return json.loads(done.stdout)


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
