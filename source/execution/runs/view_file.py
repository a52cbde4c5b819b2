# Reads a line of JSON {kind, page, longest_side, most_bytes} and the bytes of a file; writes one JSON object: {image, type, about}, {table, about}, {error}
# or {missing: module}.
import base64
import csv
import io
import json
import sys

ROWS = 50
CELL = 60
COLUMNS = 40


class Refused(Exception):
    pass


def written(image, form, **options):
    into = io.BytesIO()
    image.save(into, form, **options)
    return into.getvalue()


def on_white(image):
    if image.mode == 'RGB':
        return image
    from PIL import Image
    image = image.convert('RGBA')
    white = Image.new('RGBA', image.size, 'white')
    white.alpha_composite(image)
    return white.convert('RGB')


def small_enough(image, most):
    """PNG where it fits, because it is exact; else JPEG, and at last fewer pixels."""
    while True:
        data = written(image, 'PNG', optimize=False)
        if len(data) <= most:
            return data, 'image/png', image.size
        flat = on_white(image)
        data = written(flat, 'JPEG', quality=85)
        if len(data) <= most or min(image.size) < 16:
            return data, 'image/jpeg', image.size
        image = image.resize((max(1, image.width * 3 // 4), max(1, image.height * 3 // 4)))


def view_image(options, data):
    from PIL import Image, ImageOps
    try:
        image = Image.open(io.BytesIO(data))
        size = image.size
        side = options['longest_side']
        image.draft('RGB', (side, side))
        image = ImageOps.exif_transpose(image)
        if image.mode not in ('1', 'L', 'LA', 'RGB', 'RGBA'):
            image = image.convert('RGBA' if 'transparency' in image.info or image.mode in ('PA', 'La') else 'RGB')
        image.thumbnail((side, side))
        shown, kind, scaled = small_enough(image, options['most_bytes'])
    except MemoryError:
        raise
    except Exception as problem:
        raise Refused('The image is damaged, or of a kind that cannot be read here.') from problem
    about = f'{size[0]} × {size[1]} pixels'
    if tuple(scaled) != tuple(size):
        about += f', shown as {scaled[0]} × {scaled[1]}'
    return {'image': base64.b64encode(shown).decode(), 'type': kind, 'about': about}


def text_of(data, guess):
    """The text, and what is to be said of how it was read. `guess`: of the server, by the first bytes beyond ASCII."""
    marked = data[:2] in (b'\xff\xfe', b'\xfe\xff')
    name = 'utf-16' if marked else guess.lower()
    try:
        if not name.startswith('utf-16'):
            return data.decode('utf-8-sig'), ''
    except UnicodeDecodeError:
        pass
    try:
        text = data.decode(name, 'replace')
    except LookupError:
        name = 'windows-1252'
        text = data.decode(name, 'replace')
    said = [] if marked or name == 'utf-8' else [f'no encoding is declared: read as {name}, a guess']
    lost = text.count('\ufffd')
    if lost:
        said.append(f'{lost} bytes or characters are not valid in {name} and shown as \ufffd')
    return text, '; '.join(said)


def rows_of_text(options, data):
    text, said = text_of(data, options['charset'])
    text = text.replace('\0', '')
    csv.field_size_limit(1 << 24)
    delimiter = '\t'
    if options['kind'] == 'csv':
        first = text[:4096].splitlines()[:1] or ['']
        delimiter = max(',;\t|', key=first[0].count)
    return csv.reader(io.StringIO(text, newline=''), delimiter=delimiter), said


def rows_of_workbook(options, data):
    import re
    import zipfile
    import xml.etree.ElementTree as tree
    book = zipfile.ZipFile(io.BytesIO(data))
    if sum(each.file_size for each in book.infolist()) > 200 << 20:
        raise Refused('The workbook is too large unpacked; read it with Python.')

    def parts(name):
        return [each for each in tree.fromstring(book.read(name)).iter()]

    def plain(tag):
        return tag.rpartition('}')[2]

    shared = []
    if 'xl/sharedStrings.xml' in book.namelist():
        for each in parts('xl/sharedStrings.xml'):
            if plain(each.tag) == 'si':
                shared.append(''.join(piece.text or '' for piece in each.iter() if plain(piece.tag) == 't'))
    names = [each.get('name') for each in parts('xl/workbook.xml') if plain(each.tag) == 'sheet']
    sheets = sorted((name for name in book.namelist() if re.fullmatch(r'xl/worksheets/sheet\d+\.xml', name)),
                    key=lambda name: int(re.findall(r'\d+', name)[0]))
    if not sheets:
        raise Refused('The workbook has no sheet.')

    def column(reference):
        number = 0
        for letter in re.match('[A-Z]*', reference or '').group():
            number = number * 26 + ord(letter) - 64
        return number

    def value(cell):
        content = ''.join(each.text or '' for each in cell.iter() if plain(each.tag) in ('v', 't'))
        if cell.get('t') == 's' and content.isdigit() and int(content) < len(shared):
            return shared[int(content)]
        return content

    def rows():
        for each in parts(sheets[0]):
            if plain(each.tag) != 'row':
                continue
            cells = []
            for cell in each:
                number = column(cell.get('r'))
                while len(cells) + 1 < min(number, 1000):
                    cells.append('')
                cells.append(value(cell))
            yield cells
    return rows(), f'sheet {names[0] if names else 1} of {len(sheets)}: {", ".join(filter(None, names))}'[:300]


def cell_text(value):
    value = ' '.join(str(value).split()).replace('|', '\\|')
    return value if len(value) <= CELL else value[:CELL - 1] + '…'


def line_of(cells):
    shown = [cell_text(each) for each in cells[:COLUMNS]]
    if len(cells) > COLUMNS:
        shown.append(f'… {len(cells) - COLUMNS} more columns')
    return '| ' + ' | '.join(shown) + ' |'


def view_table(options, data):
    try:
        rows, about = (rows_of_workbook if options['kind'] == 'xlsx' else rows_of_text)(options, data)
        rows = iter(rows)
        head = next(rows, [])
        first = (options['page'] - 1) * ROWS
        lines, count = [], 0
        for each in rows:
            if first <= count < first + ROWS:
                lines.append(line_of(each))
            count += 1
    except (Refused, MemoryError):
        raise
    except Exception as problem:
        raise Refused(f'The table cannot be read: {problem}') from None
    if count and first >= count:
        raise Refused(f'The table has {-(-count // ROWS)} pages of {ROWS} rows.')
    table = '\n'.join([line_of(head), '|' + ' --- |' * max(1, min(len(head), COLUMNS)), *lines])
    size = f'{count} rows, {len(head)} columns; rows {first + 1} to {first + len(lines)}' if lines else f'no rows, {len(head)} columns'
    return {'table': table, 'about': '; '.join(filter(None, (size, about))), 'pages': max(1, -(-count // ROWS))}


def main():
    options, _, data = sys.stdin.buffer.read().partition(b'\n')
    options = json.loads(options)
    try:
        answer = (view_image if options['kind'] == 'image' else view_table)(options, data)
    except Refused as problem:
        answer = {'error': str(problem)[:500]}
    except ImportError as problem:
        answer = {'missing': problem.name}
    print(json.dumps(answer))


main()
