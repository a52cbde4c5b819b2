MARKS = {'strong': '**', 'b': '**', 'em': '*', 'i': '*', 'code': '`', 'kbd': '`', 'samp': '`', 'del': '~~', 's': '~~'}


class Renderer:
    """Turns elements into text or markdown, block by block."""

    def __init__(self, soup, base, markdown, left_out=()):
        self.base, self.markdown = base, markdown
        self.left_out = {id(tag) for tag in left_out}
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
        text = ''.join(self.inline(child) if isinstance(child, Tag) else str(child) if is_text(child) else ''
                       for child in tag.children)
        return self.marked(tag, text) if self.markdown else text

    def marked(self, tag, text):
        core = squeezed(text).strip()
        if not core or BREAK in text:
            return text
        mark = MARKS.get(tag.name)
        made = self.link(tag, core) if tag.name == 'a' else mark + core + mark if mark else None
        if made is None:
            return text
        return ' ' * text[0].isspace() + made + ' ' * text[-1].isspace()


