#include "managers/web_page_script.hpp"

namespace cmcp {

// The selector works on the page as it is, so that it finds what BeautifulSoup finds; what nobody would see or read
// (scripts, hidden elements, comments) is left out of what was found afterwards.
const std::string_view web_page_script = R"PY(
import json, re, sys, warnings
from urllib.parse import parse_qs, urljoin, urlsplit

warnings.simplefilter('ignore')
sys.setrecursionlimit(20000)

BLOCKS = frozenset('''address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer
    form h1 h2 h3 h4 h5 h6 header hgroup hr html li main menu nav ol optgroup option p pre section summary table tbody td tfoot th thead
    tr ul'''.split())
UNSEEN = frozenset('''script style template head noembed noframes object embed applet iframe frame svg math canvas audio video datalist
    select textarea input'''.split())
AROUND = frozenset('nav footer aside'.split())
AROUND_ROLES = frozenset('navigation banner contentinfo search complementary'.split())
BREAK = '\v'


def answer(**found):
    json.dump(found, sys.stdout)
    sys.stdout.flush()


try:
    import bs4, lxml.etree
    from bs4.element import CData, NavigableString, PreformattedString, Tag
except ImportError:
    answer(missing=['python3-bs4', 'python3-lxml'])
    raise SystemExit(0)


def hidden(tag):
    attributes = tag.attrs
    if not attributes:
        return False
    if 'hidden' in attributes or attributes.get('aria-hidden') == 'true':
        return True
    style = attributes.get('style')
    return bool(style) and re.search(r'display\s*:\s*none|visibility\s*:\s*hidden', style, re.I) is not None


def unseen(tag):
    return tag.name in UNSEEN or hidden(tag)


def out_of_sight(tag):
    return any(hidden(parent) or parent.name in ('template', 'noembed', 'noframes') for parent in tag.parents)


def is_text(node):
    return isinstance(node, NavigableString) and (not isinstance(node, PreformattedString) or isinstance(node, CData))


def squeezed(text):
    return re.sub(r'[ \t\r\n\f\xa0]+', ' ', text)


def tidy(text):
    lines = (squeezed(line).strip() for line in text.split(BREAK))
    return re.sub(r'\n{3,}', '\n\n', '\n'.join(lines)).strip()


class Renderer:
    """Turns elements into text or markdown, block by block."""

    def __init__(self, soup, base, markdown, left_out=()):
        self.base, self.markdown = base, markdown
        self.left_out = {id(tag) for tag in left_out}
        self.holders = set()            # elements with a block somewhere inside
        for tag in soup.find_all(BLOCKS):
            for parent in tag.parents:
                if id(parent) in self.holders:
                    break
                self.holders.add(id(parent))

    def render(self, tag):
        if tag.name in BLOCKS or id(tag) in self.holders:
            return '\n\n'.join(self.block(tag))
        return tidy(self.inline(tag))

    def skipped(self, tag):
        return unseen(tag) or id(tag) in self.left_out

    def blocks(self, parent):
        found, line = [], []

        def close():
            text = tidy(''.join(line))
            line.clear()
            if text:
                found.append(text)

        for child in parent.children:
            if not isinstance(child, Tag):
                line.append(str(child) if is_text(child) else '')
            elif self.skipped(child):
                continue
            elif child.name in BLOCKS or id(child) in self.holders:
                close()
                found.extend(self.block(child))
            else:
                line.append(self.inline(child))
        close()
        return found

    def block(self, tag):
        name = tag.name
        if name in ('ul', 'ol', 'menu'):
            return self.list(tag)
        if name == 'pre':
            return self.preformatted(tag)
        if name == 'table':
            return self.table(tag)
        if name == 'hr':
            return ['---'] if self.markdown else []
        found = self.blocks(tag)
        if not self.markdown:
            return found
        if re.fullmatch('h[1-6]', name) and found:
            return ['#' * int(name[1]) + ' ' + ' '.join(found).replace('\n', ' ')]
        if name == 'blockquote':
            return ['\n'.join(('> ' + line).rstrip() for line in '\n\n'.join(found).split('\n'))] if found else []
        if name == 'a' and len(found) == 1 and '\n' not in found[0]:
            mark, text = re.fullmatch('((?:#+ )?)(.*)', found[0]).groups()
            return [mark + self.link(tag, text)]
        return found

    def list(self, tag):
        items, number = [], 1
        for child in tag.children:
            if not isinstance(child, Tag) or self.skipped(child):
                continue
            parts = self.list(child) if child.name in ('ul', 'ol', 'menu') else self.blocks(child)
            if not parts:
                continue
            mark = '%d. ' % number if tag.name == 'ol' else '- '
            number += 1
            text = '\n'.join(parts).replace('\n', '\n' + ' ' * len(mark))
            items.append(mark + text)
        return ['\n'.join(items)] if items else []

    def preformatted(self, tag):
        text = ''.join(self.raw(tag)).strip('\n')
        if not text.strip():
            return []
        return ['```\n' + text + '\n```'] if self.markdown else [text]

    def raw(self, tag):
        for child in tag.children:
            if is_text(child):
                yield str(child)
            elif isinstance(child, Tag) and child.name == 'br':
                yield '\n'
            elif isinstance(child, Tag) and not self.skipped(child):
                yield from self.raw(child)

    def table(self, tag):
        if tag.find('table') is not None:
            return self.blocks(tag)     # for the layout of a page
        rows, found = [], []
        for row in tag.find_all('tr'):
            cells = [cell for cell in row.find_all(['td', 'th'], recursive=False) if not self.skipped(cell)]
            if not self.skipped(row) and cells:
                rows.append([' '.join(self.blocks(cell)).replace('\n', ' ') for cell in cells])
        caption = tag.find('caption')
        if caption is not None:
            found += self.blocks(caption)
        rows = [row for row in rows if any(row)]
        if rows and max(len(row) for row in rows) == 1:
            return found + [row[0] for row in rows]
        if rows and self.markdown:
            width = max(len(row) for row in rows)
            rows = [[cell.replace('|', '\\|') for cell in row] + [''] * (width - len(row)) for row in rows]
            lines = ['| ' + ' | '.join(row) + ' |' for row in rows]
            lines.insert(1, '|' + ' --- |' * width)
            return found + ['\n'.join(lines)]
        return found + (['\n'.join(' | '.join(row) for row in rows)] if rows else [])

    def link(self, tag, text):
        address = absolute(self.base, tag.get('href'))
        return '[%s](%s)' % (text, address.replace(')', '%29')) if address and text.strip() else text

    def inline(self, tag):
        if self.skipped(tag):
            return ''
        if tag.name == 'br':
            return BREAK
        if tag.name == 'img':
            alt = squeezed(tag.get('alt') or '').strip()
            address = absolute(self.base, tag.get('src'))
            return '![%s](%s)' % (alt, address) if self.markdown and alt and address else ''
        text = ''.join(self.inline(child) if isinstance(child, Tag) else str(child) if is_text(child) else '' for child in tag.children)
        return self.marked(tag, text) if self.markdown else text

    def marked(self, tag, text):
        core = squeezed(text).strip()
        if not core or BREAK in text:
            return text
        mark = {'strong': '**', 'b': '**', 'em': '*', 'i': '*', 'code': '`', 'kbd': '`', 'samp': '`', 'del': '~~', 's': '~~'}.get(tag.name)
        made = self.link(tag, core) if tag.name == 'a' else mark + core + mark if mark else None
        if made is None:
            return text
        return ' ' * text[0].isspace() + made + ' ' * text[-1].isspace()


def absolute(base, reference):
    if not isinstance(reference, str):
        return ''
    try:
        address = urljoin(base, reference.strip())
        return address if urlsplit(address).scheme in ('http', 'https') else ''
    except ValueError:
        return ''


def title_of(soup):
    named = soup.find('meta', attrs={'property': 'og:title'})
    for text in (soup.title.get_text() if soup.title else '', named.get('content') if named else '', soup.h1.get_text() if soup.h1 else ''):
        if text and text.strip():
            return squeezed(text).strip()[:1000]
    return ''


def main_part(soup):
    """The element that holds what the page is about, and what is left out of it."""
    body = soup.body or soup
    whole = len(squeezed(body.get_text()))
    mains = [tag for tag in body.find_all(lambda tag: tag.name == 'main' or tag.get('role') == 'main') if not unseen(tag)]
    articles = [tag for tag in body.find_all('article') if not unseen(tag) and tag.find_parent('article') is None]
    for candidates in (mains, articles):
        if len(candidates) == 1 and len(squeezed(candidates[0].get_text())) * 5 >= min(whole, 5000):
            return candidates[0], [tag for tag in candidates[0].find_all(['nav', 'aside'])]
    around = [tag for tag in body.find_all(True) if tag.name in AROUND or tag.get('role') in AROUND_ROLES
              or tag.name == 'header' and tag.find_parent(['article', 'main', 'section']) is None]
    return body, around


def cleaned(tag):
    for one in tag.find_all(lambda inner: inner.name in UNSEEN - {'svg', 'math', 'select', 'textarea', 'input', 'head', 'audio', 'video'} or hidden(inner)):
        if not one.decomposed:
            one.decompose()
    for comment in tag.find_all(string=lambda text: isinstance(text, PreformattedString) and not isinstance(text, CData)):
        comment.extract()
    return str(tag)


def links_in(tags, base):
    found, seen = [], set()
    for tag in tags:
        for one in ([tag] if tag.name == 'a' else []) + tag.find_all('a', href=True):
            address = absolute(base, one['href']) if 'href' in one.attrs else ''
            if not address or address in seen or hidden(one) or out_of_sight(one):
                continue
            seen.add(address)
            found.append({'text': squeezed(one.get_text()).strip()[:300], 'url': address})
    return found


def data_in(tag):
    return tag.name == 'script' and 'json' in (tag.get('type') or '')


def read_page(asked, text):
    kind, shape, selector = asked['kind'], asked['format'], asked['selector']
    if kind == 'xml':
        text = re.sub(r'<!DOCTYPE[^>\[]*(\[.*?\]\s*)?>', '', text, count=1, flags=re.S | re.I)     # declares no entities any more
        soup = bs4.BeautifulSoup(text, 'xml')
    else:
        soup = bs4.BeautifulSoup(text, 'lxml')
    base = asked['base']
    named = soup.find('base', href=True)
    base = absolute(base, named['href']) or base if named else base
    found = {'title': title_of(soup)}
    left_out = []
    if selector is not None:
        chosen = [tag for tag in select(soup, selector) if data_in(tag) or not unseen(tag) and not out_of_sight(tag)]
        found['matches'] = len(chosen)
    elif kind == 'xml' or shape in ('html', 'links'):
        chosen = [soup]
    else:
        part, left_out = main_part(soup)
        chosen = [part]
    if shape == 'links':
        links = links_in(chosen, base)
        found['links'] = links[:2000]
        pieces = ['\n'.join('- [%s](%s)' % (link['text'], link['url']) for link in links)]
    elif shape == 'html':
        pieces = [tag.string or '' if data_in(tag) else cleaned(tag) for tag in chosen]
    elif kind == 'xml':
        pieces = [tag.get_text('\n', strip=True) for tag in chosen]
    else:
        renderer = Renderer(soup, base, shape == 'markdown', left_out)
        pieces = [tag.string or '' if data_in(tag) else renderer.render(tag) for tag in chosen]
        if selector is None and not ''.join(pieces).strip():
            pieces = [Renderer(soup, base, shape == 'markdown').render(soup.body or soup)]
    separator = '\n' if shape == 'html' else '\n\n'
    content = separator.join(piece for piece in pieces if piece)
    most = asked['max_length']
    found.update(content=content[:most], length=len(content), truncated=len(content) > most)
    answer(**found)


class Refused(Exception):
    pass


def select(soup, selector):
    import soupsieve
    try:
        return soup.select(selector)
    except soupsieve.SelectorSyntaxError as problem:
        raise Refused('selector: is no valid CSS selector: ' + str(problem).split('\n')[0])
    except (ValueError, NotImplementedError, TypeError) as problem:
        raise Refused('selector: cannot be used: ' + str(problem).split('\n')[0][:300])


def read_results(asked, text):
    """The result page of DuckDuckGo without scripts."""
    soup = bs4.BeautifulSoup(text, 'lxml')
    results = []
    for link in soup.select('a.result__a'):
        address = absolute(asked['base'], link.get('href'))
        target = parse_qs(urlsplit(address).query).get('uddg')
        address = target[0] if target else address
        holder = link.find_parent(class_='result') or link
        if 'result--ad' in (holder.get('class') or []) or not address:
            continue
        snippet = holder.select_one('.result__snippet')
        results.append({'title': squeezed(link.get_text()).strip(), 'url': address,
                        'snippet': squeezed(snippet.get_text()).strip() if snippet else ''})
    challenge = not results and soup.select_one('#challenge-form, .anomaly-modal__title, form[action*="anomaly"]') is not None
    answer(results=results, challenge=challenge)


try:
    options, _, page = sys.stdin.buffer.read().partition(b'\n')
    options, page = json.loads(options), page.decode('utf-8', 'replace').replace('\0', '\ufffd')
    (read_results if options['kind'] == 'results' else read_page)(options, page)
except Refused as problem:
    answer(error=str(problem))
except RecursionError:
    answer(error='The page or the selector is nested too deeply to be read.')
)PY";

}  // namespace cmcp
