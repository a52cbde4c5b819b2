"""The pages as text: their fenced blocks, headings, links and code spans."""
import re
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PAGES = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *sorted((PROJECT / "docs").glob("*.md"))]


@dataclass
class Block:
    line: int
    language: str
    marks: list
    text: str = ""
    output: "Block | None" = None       # the block ```output that follows at once


@dataclass
class Page:
    path: Path
    blocks: list = field(default_factory=list)
    prose: str = ""                     # the text outside of blocks

    @property
    def name(self):
        return str(self.path.relative_to(PROJECT))

    def of(self, *languages):
        return [block for block in self.blocks if block.language in languages]


def read(path):
    page, block, last_end = Page(path), None, 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if block is None and line.startswith("```"):
            language, *marks = line[3:].split() or [""]
            block = Block(number, language, marks)
            if language == "output" and last_end == number - 1:
                page.blocks[-1].output = block
            else:
                page.blocks.append(block)
        elif line == "```":
            block, last_end = None, number
        elif block:
            block.text += line + "\n"
        else:
            page.prose += line + "\n"
    if block:
        raise AssertionError(f"{page.name}: the block of line {block.line} has no end")
    return page


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", text)


def spans(page):
    return re.findall(r"`([^`\n]+)`", page.prose)


def anchors(path):
    """As GitHub makes them of headings."""
    return {anchor_of(title) for title in re.findall(r"(?m)^#+ (.*)$", read(path).prose)}


def anchor_of(title):
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def section(path, anchor):
    """The text below a heading up to the next one, its blocks included; without an anchor the whole page."""
    lines, wanted, in_block = [], not anchor, False
    for line in path.read_text(encoding="utf-8").splitlines():
        in_block ^= line.startswith("```")
        if anchor and not in_block and (title := re.fullmatch(r"#+ (.*)", line)):
            wanted = anchor_of(title[1]) == anchor
        if wanted:
            lines.append(line)
    return "\n".join(lines)


def broken_links(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.prose)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = (page.path.parent / file).resolve() if file else page.path
        if not path.exists():
            yield f"{target}: there is no such file"
        elif anchor and anchor not in anchors(path):
            yield f"{target}: there is no such heading"
