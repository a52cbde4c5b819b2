MARKS = {'strong': '**', 'b': '**', 'em': '*', 'i': '*', 'code': '`', 'kbd': '`', 'samp': '`', 'del': '~~', 's': '~~', 'strike': '~~'}
STRUCK = frozenset('del s strike'.split())      # what is struck out is marked in plain text, too: it says the opposite otherwise
BELOW = str.maketrans('0123456789', '₀₁₂₃₄₅₆₇₈₉')
ROMAN = ((1000, 'm'), (900, 'cm'), (500, 'd'), (400, 'cd'), (100, 'c'), (90, 'xc'), (50, 'l'), (40, 'xl'), (10, 'x'), (9, 'ix'),
         (5, 'v'), (4, 'iv'), (1, 'i'))
ON_A_LINE = FORMULA | {'select'}    # whatever they hold
MOST_COLUMNS = 1000         # as in browsers
MANY_COLUMNS = 50           # a cell of so many is meant to be as wide as its table
MOST_REPEATED = 1 << 20     # characters of cells that stand in more than one column or row


class Renderer:
    """Turns elements into text or markdown, block by block."""

    def __init__(self, soup, base, markdown, left_out=()):
        self.base, self.markdown = base, markdown
        self.left_out = {id(tag) for tag in left_out}
        self.in_cell, self.repeated = False, 0
        self.holders = set()            # elements with a block somewhere inside
        for tag in soup.descendants:    # find_all() with a set of names takes ten times as long
            if not isinstance(tag, Tag) or tag.name not in BLOCKS:
                continue
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
            elif child.name not in ON_A_LINE and (child.name in BLOCKS or id(child) in self.holders):
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
        if name == 'dl':
            return self.definitions(tag)
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
        items = [child for child in tag.children if isinstance(child, Tag) and not self.skipped(child)]
        ordered = tag.name == 'ol'
        step = -1 if ordered and 'reversed' in tag.attrs else 1
        number = whole(tag.get('start'), sum(item.name == 'li' for item in items) if step < 0 else 1)
        written = []
        for child in items:
            parts = self.list(child) if child.name in ('ul', 'ol', 'menu') else self.blocks(child)
            if child.name == 'li':
                number = whole(child.get('value'), number) if ordered else number
            if not parts:
                number += step * (child.name == 'li')
                continue
            mark = counted(number, tag.get('type')) + '. ' if ordered else '- '
            number += step
            written.append(mark + '\n'.join(parts).replace('\n', '\n' + ' ' * len(mark)))
        return ['\n'.join(written)] if written else []

    def definitions(self, tag):
        found = []
        for child in tag.children:
            if not isinstance(child, Tag) or self.skipped(child):
                continue
            if child.name == 'div':
                found += self.definitions(child)
                continue
            text = '\n'.join(self.blocks(child))
            if text and child.name == 'dd' and found:
                found[-1] += '\n: ' + text.replace('\n', '\n  ')
            elif text:
                found.append(text)
        return found

    def preformatted(self, tag):
        text = ''.join(self.raw(tag)).strip('\n')
        if not text.strip():
            return []
        if not self.markdown:
            return [text]
        names = ' '.join(' '.join(of.get('class') or []) if isinstance(of.get('class'), list) else of.get('class') or ''
                         for of in [tag] + tag.find_all('code', limit=1))
        language = re.search(r'\b(?:language|lang|highlight-source|brush:)-?\s*([\w+#-]+)', names)
        fence = '```'
        while fence in text:
            fence += '`'
        return [fence + (language[1] if language else '') + '\n' + text + '\n' + fence]

    def raw(self, tag):
        for child in tag.children:
            if is_text(child):
                yield str(child)
            elif isinstance(child, Tag) and child.name == 'br':
                yield '\n'
            elif isinstance(child, Tag) and not self.skipped(child):
                yield from self.raw(child)

    def table(self, tag):
        parts = parts_of_table(tag)
        nested = tag.find('table') is not None
        is_layout = tag.get('role') in ('presentation', 'none') or nested and not self.in_cell and not any(
            cell.name == 'th' for rows in parts for row in rows for cell in row.find_all(True, recursive=False))
        if is_layout:
            return self.blocks(tag)
        outer, self.in_cell = self.in_cell, True
        rows = [row for part in parts for row in self.grid(part)]
        self.in_cell = outer
        if outer:       # a table within a cell stays on its line
            return ['; '.join(', '.join(filter(None, row)) for row in rows if any(row))] if rows else []
        found = []
        caption = tag.find('caption', recursive=False)
        if caption is not None and not self.skipped(caption):
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

    def grid(self, rows):
        """The cells' texts by columns (HTML section 4.9.12). A cell that spans several stands in each of them, so that every
        value is under its heading; a long one stands once."""
        made, hanging = [], {}      # column -> [rows that it still covers, text]
        width = max((sum(span if span <= MANY_COLUMNS else 1 for span in map(across, row.find_all(['td', 'th'], recursive=False)))
                     for row in rows), default=0)
        for index, row in enumerate(rows):
            cells = [] if self.skipped(row) else [cell for cell in row.find_all(['td', 'th'], recursive=False) if not self.skipped(cell)]
            line, column = [], 0

            def from_above():
                nonlocal column
                while column in hanging:
                    line.append(hanging[column][1])
                    hanging[column][0] -= 1
                    if hanging[column][0] == 0:
                        del hanging[column]
                    column += 1

            for cell in cells:
                from_above()
                if column >= MOST_COLUMNS:
                    break
                text = ' '.join(self.blocks(cell)).replace('\n', ' ')
                columns = across(cell)
                if columns > MANY_COLUMNS:
                    columns = max(1, min(columns, width - column))
                down = whole(cell.get('rowspan'), 1)
                down = len(rows) - index if down == 0 else min(max(1, down), len(rows) - index)
                alone = len(cells) == 1 and not hanging and column == 0
                self.repeated += len(text) * (columns * down - 1)
                again = text if len(text) <= 80 and not alone and self.repeated < MOST_REPEATED else ''
                for each in range(columns):
                    line.append(again if each else text)
                    if down > 1:
                        hanging[column] = [down - 1, again]
                    column += 1
            from_above()
            later = [position for position in hanging if position > column]
            while later and column <= max(later):       # what hangs from above behind columns that this row lacks
                line.append('')
                column += 1
                from_above()
                later = [position for position in hanging if position > column]
            if cells:
                made.append(line)
        return made

    def link(self, tag, text):
        address = absolute(self.base, tag.get('href'))
        return '[%s](%s)' % (text, address.replace(')', '%29')) if address and text.strip() else text

    def inline(self, tag):
        if self.skipped(tag):
            return ''
        name = tag.name
        if name == 'br':
            return BREAK
        if name == 'math':
            return formula(tag, self.markdown)
        if name == 'svg':
            label = squeezed(tag.get('aria-label') or (tag.title and tag.title.get_text()) or '').strip()
            return '[%s]' % label if label else ''
        if name == 'img':
            return self.image(tag)
        if name in ('input', 'select', 'textarea'):
            return field_value(tag)
        text = ''.join(self.inline(child) if isinstance(child, Tag) else str(child) if is_text(child) else ''
                       for child in tag.children)
        if name in ('sup', 'sub'):
            return raised(tag, text)
        if name == 'rp':
            return ''
        if name == 'rt':
            return '(%s)' % text.strip() if text.strip() else ''
        if name == 'q':
            return '“%s”' % text
        if name == 'abbr' and text.strip():
            title = squeezed(tag.get('title') or '').strip()
            if title and title.lower() != squeezed(text).strip().lower():
                text = '%s (%s)' % (text.rstrip(), title)
        if name == 'a' and self.markdown and not text.strip():
            text = tag.get('aria-label') or tag.get('title') or ''
        return self.marked(tag, text)

    def image(self, tag):
        alt = squeezed(tag.get('alt') or '').strip()
        tex = re.fullmatch(r'\{\\(?:display|text)style (.*)\}', alt)
        if tex:
            return '$%s$' % tex[1].strip() if self.markdown else tex[1].strip()
        address = absolute(self.base, tag.get('src'))
        if not alt:
            return ''
        return '![%s](%s)' % (alt, address) if self.markdown and address else '[%s]' % alt

    def marked(self, tag, text):
        core = squeezed(text).strip()
        if not core or BREAK in text:
            return text
        mark = MARKS.get(tag.name) if self.markdown or tag.name in STRUCK else None
        made = self.link(tag, core) if tag.name == 'a' and self.markdown else None
        if mark and mark in core:
            mark = mark * 2 if mark == '`' else None
        if mark:
            made = mark + core + mark
        if made is None:
            return text
        return ' ' * text[0].isspace() + made + ' ' * text[-1].isspace()


def across(cell):
    return min(max(1, whole(cell.get('colspan'), 1)), MOST_COLUMNS)


def whole(text, otherwise):
    match = re.match(r'\s*([+-]?\d{1,9})', text or '')
    return int(match[1]) if match else otherwise


def counted(number, kind):
    """The number of an item as the list's type has it: 1, a, A, i, I."""
    if kind in ('a', 'A') and number > 0:
        letters = ''
        while number > 0:
            number, rest = divmod(number - 1, 26)
            letters = chr(97 + rest) + letters
        return letters if kind == 'a' else letters.upper()
    if kind in ('i', 'I') and 0 < number < 4000:
        roman = ''
        for value, sign in ROMAN:
            roman += sign * (number // value)
            number %= value
        return roman if kind == 'i' else roman.upper()
    return str(number)


def parts_of_table(table):
    """The rows of each group of the table itself, the foot last; not those of tables in its cells."""
    parts, loose = {'thead': [], 'tbody': [], 'tfoot': []}, []

    def gather(parent, rows):
        for child in parent.children:
            if not isinstance(child, Tag):
                continue
            if child.name == 'tr':
                rows.append(child)
            elif child.name in parts:
                inner = []
                parts[child.name].append(inner)
                gather(child, inner)
            elif child.name not in ('caption', 'colgroup', 'td', 'th', 'table') and not hidden(child):
                gather(child, rows)

    gather(table, loose)
    return parts['thead'] + [loose] + parts['tbody'] + parts['tfoot']


def raised(tag, text):
    """Powers and indices: 10^6, H₂O, x_(n+1). What stands above only by custom (1st, a note's [3]) stays as it is."""
    core = squeezed(text).strip()
    if not core or core[0] in '[(*†‡§' or re.fullmatch('(?:TM|SM|®|™|©|℠)', core):
        return text
    if tag.name == 'sup' and re.fullmatch('st|nd|rd|th|er|re|ère|ère?s|e|ème|o|a|º|ª', core) and re.search(r'\d\s*$', str(tag.previous_sibling or '')):
        return text
    if tag.name == 'sub' and core.isascii() and core.isdigit():
        return core.translate(BELOW)
    simple = re.fullmatch(r'[+\-−–]?[\w.,′*]+', core) or len(core) == 1
    return ('^' if tag.name == 'sup' else '_') + (core if simple else '(%s)' % core)


def field_value(tag):
    if tag.name == 'select':
        options = [option for option in tag.find_all('option') if 'selected' in option.attrs] or tag.find_all('option', limit=1)
        return ', '.join(squeezed(option.get_text()).strip() for option in options)
    if tag.name == 'textarea':
        return tag.get_text()
    kind, value = (tag.get('type') or 'text').lower(), squeezed(tag.get('value') or '').strip()
    if kind in ('checkbox', 'radio'):
        return ' [x] ' if 'checked' in tag.attrs else ' [ ] '
    if kind == 'image':
        return squeezed(tag.get('alt') or '').strip()
    return '' if kind in ('hidden', 'password', 'file', 'color') else value


def formula(tag, markdown):
    """TeX where the page has it, else a line of text."""
    for note in tag.find_all('annotation'):
        if 'tex' in (note.get('encoding') or '').lower() and note.get_text(strip=True):
            return in_dollars(note.get_text(), markdown)
    if (tag.get('alttext') or '').strip():
        return in_dollars(tag['alttext'], markdown and '\\' in tag['alttext'])
    return ' '.join(line_of_math(tag).split())


def in_dollars(text, markdown):
    text = squeezed(text).strip()
    inner = re.fullmatch(r'\{\\(?:display|text)style (.*)\}', text)
    text = inner[1].strip() if inner else text
    return '$%s$' % text if markdown else text


def line_of_math(tag):
    parts = [line_of_math(child) if isinstance(child, Tag) else str(child).strip() if is_text(child) else ''
             for child in tag.children if not isinstance(child, Tag) or child.name not in ('annotation', 'annotation-xml', 'mphantom', 'none', 'mprescripts')]
    parts = [part for part in parts if part]
    held = [part if re.fullmatch(r'[\w.]+|\(.*\)', part) else '(%s)' % part for part in parts]
    name = tag.name.rpartition(':')[2]
    if name == 'mfrac' and len(parts) == 2:
        return '%s/%s' % tuple(held)
    if name == 'msqrt':
        return '√(%s)' % ''.join(parts)
    if name == 'mroot' and len(parts) == 2:
        return 'root(%s, %s)' % tuple(parts)
    if name in ('msup', 'mover') and len(parts) == 2:
        return '%s^%s' % (parts[0], held[1])
    if name in ('msub', 'munder') and len(parts) == 2:
        return '%s_%s' % (parts[0], held[1])
    if name in ('msubsup', 'munderover') and len(parts) == 3:
        return '%s_%s^%s' % (parts[0], held[1], held[2])
    if name == 'mfenced':
        return '(%s)' % ', '.join(parts)
    if name == 'mtable':
        return '[%s]' % '; '.join(parts)
    if name == 'mtr':
        return ', '.join(parts)
    if name == 'mo' and parts and re.fullmatch(r'[=<>≤≥≠≈≡→⇒+−±∈∼]|-', parts[0]):
        return ' %s ' % parts[0]
    return ' '.join(parts) if name == 'mtext' else ''.join(parts)


