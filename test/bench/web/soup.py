"""What `curl URL | python3 soup.py SELECTOR` takes to read a page: BeautifulSoup with lxml, as in scripts/bench-web."""
import sys

import bs4

page = bs4.BeautifulSoup(sys.stdin.buffer.read(), "lxml")
print("\n\n".join(" ".join(found.get_text().split()) for found in page.select(sys.argv[1])))
