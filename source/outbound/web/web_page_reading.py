# The selector works on the page as it is, so that it finds what BeautifulSoup finds; what nobody would see or read
# (scripts, hidden elements, comments) is left out of what was found afterwards.
import gc, json, re, sys, warnings
from urllib.parse import parse_qs, urljoin, urlsplit

gc.disable()        # what a page becomes is all used until the end; looking for garbage takes a sixth of the time
warnings.simplefilter('ignore')
sys.setrecursionlimit(20000)

BLOCKS = frozenset('''address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption
    figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html li main menu nav ol optgroup option p pre section summary
    table tbody td tfoot th thead tr ul'''.split())
INERT = frozenset('script style template noembed noframes object embed applet iframe frame canvas datalist'.split())
UNSEEN = INERT | frozenset('head audio video'.split())
FORMULA = frozenset('math svg'.split())     # their elements are none of HTML's
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


def absolute(base, reference):
    if not isinstance(reference, str):
        return ''
    try:
        address = urljoin(base, reference.strip())
        return address if urlsplit(address).scheme in ('http', 'https') else ''
    except ValueError:
        return ''


def inside_out(soup):
    """Shadow roots and frames that stand in the page itself become parts of it."""
    for template in soup.find_all('template', shadowrootmode=True):
        template.name = 'div'
    for frame in soup.find_all('iframe', srcdoc=True):
        if hidden(frame):
            continue
        inner = bs4.BeautifulSoup(frame['srcdoc'], 'lxml')
        frame.name = 'section'
        frame.clear()
        for part in list((inner.body or inner).contents):
            frame.append(part)


def frames_of(soup, base):
    """Addresses of the frames that a reader would see."""
    found = []
    for frame in soup.find_all(['iframe', 'frame']):
        address = absolute(base, frame.get('src'))
        tiny = any(re.fullmatch(r'\s*[01](px)?\s*', frame.get(side) or '') for side in ('width', 'height'))
        if address and not tiny and not hidden(frame) and not out_of_sight(frame) and address not in found:
            found.append(address)
    return found[:50]


def refresh_of(soup, base, empty):
    """Where <meta http-equiv=refresh> leads within ten seconds; one for readers without scripts counts on a page that is
    empty for them."""
    for meta in soup.find_all('meta'):
        if (meta.get('http-equiv') or '').strip().lower() != 'refresh' or meta.find_parent('noscript') and not empty:
            continue
        match = re.match(r'\s*(\d*)[\d.]*\s*[;,\s]\s*(?:url\s*=\s*)?(["\']?)(.*)', meta.get('content') or '', re.I | re.S)
        if match is None or int(match[1][:6] or 0) > 10:
            continue
        reference = match[3].split(match[2])[0] if match[2] else match[3]
        address = absolute(base, reference) if reference.strip() else ''
        if address:
            return address
    return ''


def without_scripts(soup):
    """The beginning of the text that is there without scripts, apart from what stands in <noscript>."""
    found = ''
    for text in (soup.body or soup).descendants:
        if is_text(text) and text.strip() and not any(unseen(parent) or parent.name == 'noscript' for parent in text.parents):
            found += ' ' + text.strip()
            if len(found) > 400:
                break
    return found.strip()


def is_built_by_scripts(soup, text):
    if len(text) > 300 or not any(not data_in(script) and (script.get('src') or script.get_text(strip=True))
                                  for script in soup.find_all('script')):
        return False
    if not text or re.search(r'\b(loading|please wait|javascript)\b', text, re.I) or any(note.get_text(strip=True) for note in soup.find_all('noscript')):
        return True
    return any((tag.get('id') or '-' in tag.name) and not tag.contents for tag in (soup.body or soup).find_all(True)
               if tag.name in ('div', 'main', 'section') or '-' in tag.name)


def title_of(soup):
    def texts():
        yield soup.title and soup.title.get_text()
        yield next((meta.get('content') for meta in soup.find_all('meta') if meta.get('property') == 'og:title'), None)
        yield soup.h1 and soup.h1.get_text()
    return next((squeezed(text).strip()[:1000] for text in texts() if text and text.strip()), '')


def main_part(soup):
    """The element that holds what the page is about, and what is left out of it."""
    ends_early = len(soup.find_all('html', recursive=False)) > 1      # lxml gives what follows </html> a root of its own
    body = soup if ends_early else soup.body or soup
    whole = len(squeezed(body.get_text()))
    mains = [tag for tag in body.find_all(True) if (tag.name == 'main' or tag.get('role') == 'main') and not unseen(tag)]
    articles = [tag for tag in body.find_all('article') if not unseen(tag) and tag.find_parent('article') is None]
    for candidates in (mains, articles):
        if len(candidates) == 1 and len(squeezed(candidates[0].get_text())) * 5 >= min(whole, 5000):
            return candidates[0], [tag for tag in candidates[0].find_all(['nav', 'aside'])]
    around = [tag for tag in body.find_all(True) if tag.name in AROUND or tag.get('role') in AROUND_ROLES
              or tag.name == 'header' and tag.find_parent(['article', 'main', 'section']) is None]
    return body, around


def cleaned(tag):
    for one in tag.find_all(lambda inner: inner.name in INERT or hidden(inner)):
        if not one.decomposed:
            one.decompose()
    for comment in tag.find_all(string=lambda text: not is_text(text)):
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
        text = re.sub(r'<!DOCTYPE[^>\[]*(\[.*?\]\s*)?>', '', text, count=1, flags=re.S | re.I)   # its entities
        soup = bs4.BeautifulSoup(text, 'xml')
    else:
        soup = bs4.BeautifulSoup(text, 'lxml')
    base = asked['base']
    named = next((tag for tag in soup.find_all('base') if 'href' in tag.attrs), None)     # by name alone is quick
    base = absolute(base, named['href']) or base if named else base
    found = {'title': title_of(soup)}
    left_out = []
    if kind == 'html':
        bare = without_scripts(soup) if selector is None else 'unknown'
        refresh = refresh_of(soup, base, not bare)
        if refresh:
            found['refresh'] = refresh
        if shape != 'html':
            inside_out(soup)
        if selector is None and shape in ('text', 'markdown'):
            frames = frames_of(soup, base)
            if frames:
                found['frames'] = frames
            if is_built_by_scripts(soup, bare):
                found['needs_scripts'] = True
            elif not bare and not frames:
                found['needs_scripts'] = False
    if kind == 'rendered':      # parts of a page that a browser has laid out
        chosen = soup.find_all('page-part')
    elif selector is not None:
        named_data = 'script' in selector       # data for machines is taken only by who asks for it
        chosen = [tag for tag in select(soup, selector)
                  if named_data and data_in(tag) or not unseen(tag) and not out_of_sight(tag)]
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
        if selector is None and kind == 'html' and not ''.join(pieces).strip():
            pieces = [Renderer(soup, base, shape == 'markdown').render(soup.body or soup)]
    separator = '\n' if shape == 'html' or kind == 'rendered' else '\n\n'
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
    challenge = soup.select_one('#challenge-form, .anomaly-modal__title, form[action*="anomaly"]')
    answer(results=results, challenge=not results and challenge is not None)


