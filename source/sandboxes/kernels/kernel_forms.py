# Forms of values: files of them, and those of charts and pages.
def plotly_forms(figure):
    import importlib.util
    made = {'application/vnd.plotly.v1+json': json.loads(figure.to_json()),
            'text/html': figure.to_html(include_plotlyjs='cdn')}
    if importlib.util.find_spec('kaleido'):
        made['image/png'] = figure.to_image('png')
    return made

def chart_forms(chart):
    import importlib.util
    spec = chart.to_dict()
    version = spec.get('$schema', 'v5').rpartition('/v')[2].split('.')[0]
    made = {'application/vnd.vegalite.v%s+json' % version: spec}
    if importlib.util.find_spec('vl_convert'):
        import vl_convert
        made['image/png'] = vl_convert.vegalite_to_png(spec)
    return made

def text_of_page(page):
    import html.parser
    words = []
    class Reader(html.parser.HTMLParser):
        hidden = 0
        def handle_starttag(self, tag, attributes):
            self.hidden += tag in ('script', 'style')
            words.append('\n' if tag in ('p', 'div', 'br', 'tr', 'li', 'table', 'h1', 'h2', 'h3', 'h4') else '\t' if tag in ('td', 'th') else '')
        def handle_endtag(self, tag):
            self.hidden -= tag in ('script', 'style')
        def handle_data(self, text):
            if not self.hidden:
                words.append(' '.join(text.split()) + (' ' if text[-1:].isspace() else ''))
    Reader().feed(page)
    lines = (line.strip() for line in ''.join(words).split('\n'))
    return cut('\n'.join(line for line in lines if line), 4000)

def bytes_of(kind, data):
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    if isinstance(data, str):
        return base64.b64decode(data) if kind in pictures or kind == 'application/pdf' else data.encode('utf-8', 'replace')
    return json.dumps(data, default=str).encode()

# The oldest files give way, so that no loop fills the workspace.
def free_file(ending):
    folder = os.path.join(workspace, displays_folder)
    os.makedirs(folder, exist_ok=True)
    numbers = sorted(name for name in os.listdir(folder) if name[:4].isdigit())
    for name in numbers[:max(0, len(numbers) - most_files + 1)]:
        os.unlink(os.path.join(folder, name))
    number = int(numbers[-1][:4]) + 1 if numbers else 1
    if number > 9999:
        for name in numbers:
            os.unlink(os.path.join(folder, name))
        number = 1
    return '%s/%04d.%s' % (displays_folder, number, ending)

def kept_form(kind, data):
    """Path relative to the workspace; None: it is text, or could not be kept."""
    ending = endings.get(kind) or ('json' if kind.endswith('json') else None)
    if ending is None:
        return None
    try:
        data = bytes_of(kind, data)
        if len(data) > longest_file:
            print('A display of %d bytes is not kept: at most %d are.' % (len(data), longest_file), file=sys.stderr)
            return None
        name = free_file(ending)
        with open(os.path.join(workspace, name), 'xb') as file:
            file.write(data)
        return name
    except (OSError, ValueError) as problem:
        print('A display could not be kept: %s' % problem, file=sys.stderr)
        return None
