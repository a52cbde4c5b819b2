# What code shows beside what it prints. A value's forms are those that notebooks ask it for. Text goes to standard
# output in its place; every other form becomes a file of the workspace, which the answer names.
import base64, json, os, sys

forms = {'_repr_html_': 'text/html', '_repr_markdown_': 'text/markdown', '_repr_svg_': 'image/svg+xml', '_repr_png_': 'image/png',
         '_repr_pdf_': 'application/pdf', '_repr_jpeg_': 'image/jpeg', '_repr_latex_': 'text/latex', '_repr_json_': 'application/json',
         '_repr_javascript_': 'application/javascript'}
endings = {'text/html': 'html', 'image/svg+xml': 'svg', 'image/png': 'png', 'application/pdf': 'pdf', 'image/jpeg': 'jpg', 'image/gif': 'gif',
           'image/webp': 'webp', 'application/javascript': 'js'}
plain_types = {type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, type}
pictures = 'image/png', 'image/jpeg', 'image/gif', 'image/webp'
most_shown, most_files, longest_file = 100, 60, 8 << 20
displays_folder = '.displays'
displays = []
notebook = None                                 # the cell of a client that takes forms as they are (kernel_notebook.py)
captured = None                                 # displays of such a cell that go nowhere else

def cut(text, most):
    return text if len(text) <= most else '%s... (%d more characters)' % (text[:most], len(text) - most)

def safe_repr(value):
    try:
        return cut(repr(value), 100000)
    except Exception as problem:
        return '<%s object, its repr() raised %s>' % (type(value).__name__, type(problem).__name__)

# An object that answers to every name has no form.
def method_of(value, name):
    try:
        if isinstance(value, type) or hasattr(value, '_no_such_form_of_a_value_'):
            return None
        method = getattr(value, name, None)
        return method if callable(method) else None
    except Exception:
        return None

def form_of(method, *values, **options):
    try:
        made = method(*values, **options)
    except NotImplementedError:
        return None
    except Exception as problem:
        print('%s: %s: %s' % (getattr(method, '__name__', 'form'), type(problem).__name__, problem), file=sys.stderr)
        return None
    return made[0] if isinstance(made, tuple) and made else made

def figure_picture(figure):
    import io
    figure._cmcp_saved = True
    if len(figure.get_children()) < 2:          # its background alone
        return None
    data = io.BytesIO()
    figure.savefig(data, format='png', bbox_inches='tight')
    return data.getvalue()

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

def is_one_of(value, module, name):
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)

def forms_of(value):
    """{mime type: data} without text/plain; empty: the value is plain."""
    if type(value) in plain_types:
        return {}
    if is_one_of(value, 'matplotlib.figure', 'Figure'):
        data = form_of(figure_picture, value)
        return {'image/png': data} if data else {}
    if is_one_of(value, 'plotly.basedatatypes', 'BaseFigure'):
        return form_of(plotly_forms, value) or {}
    method = method_of(value, '_repr_mimebundle_')
    made = form_of(method, include=None, exclude=None) if method else None
    made = {kind: data for kind, data in made.items() if data is not None} if isinstance(made, dict) else {}
    if (type(value).__module__ or '').startswith('altair.') and method_of(value, 'to_dict'):
        made.update(form_of(chart_forms, value) or {})
    for name, kind in forms.items():
        method = method_of(value, name) if kind not in made else None
        data = form_of(method) if method else None
        if data is not None:
            made[kind] = data
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

# "<HTML object>" says nothing where there is another form.
def text_of_forms(made, plain):
    for kind in ('text/markdown', 'text/latex'):
        if isinstance(made.get(kind), str):
            return made[kind]
    says_nothing = plain.startswith('<') and plain.endswith('>') and '\n' not in plain
    if says_nothing and isinstance(made.get('text/html'), str):
        return text_of_page(made['text/html']) or plain
    if says_nothing and 'application/json' in made:
        return cut(json.dumps(made['application/json'], default=str), 4000)
    return plain

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

def noted(kinds, files, is_result=False):
    if len(displays) < most_shown:
        kinds = [str(kind)[:100] for kind in kinds[:20]]
        displays.append({'mime_types': kinds, 'files': files, **({'is_result': True} if is_result else {})})

def show_forms(made, plain, is_result=False):
    """Keeps the forms and gives the text of them."""
    files = {}
    if len(displays) < most_shown:
        files = {kind: name for kind, name in ((kind, kept_form(kind, data)) for kind, data in made.items()) if name}
    noted(['text/plain'] + [kind for kind in made if kind != 'text/plain'], files, is_result)
    text = cut(text_of_forms(made, plain), 100000)
    shown = [name for kind, name in files.items() if kind in pictures]
    return '%s [%s]' % (text, ', '.join(shown)) if shown else text

def plain_form(value, made):
    given = made.get('text/plain')
    return given if isinstance(given, str) else safe_repr(value)

def show_value(value, **about):
    method = method_of(value, '_ipython_display_') if not is_one_of(value, 'plotly.basedatatypes', 'BaseFigure') else None
    if method:
        return form_of(method)
    made = forms_of(value)
    if notebook is not None:
        return show_in_notebook(made, plain_in_notebook(value, made), **about)
    print(show_forms(made, plain_form(value, made)))

class Handle:
    """Of a display that may be shown anew."""
    def __init__(self, display_id=None):
        self.display_id = display_id if isinstance(display_id, str) else os.urandom(8).hex()
    def display(self, value, **options):
        display(value, display_id=self.display_id, **options)
    def update(self, value, **options):
        display(value, display_id=self.display_id, update=True, **options)

def display(*objs, include=None, exclude=None, metadata=None, transient=None, display_id=None, raw=False, clear=False, update=False, **options):
    """Shows values in the forms that they have: text, pictures, HTML."""
    if clear:
        clear_output()
    handle = Handle(display_id) if display_id else None
    about = {'metadata': metadata, 'display_id': handle and handle.display_id, 'update': update}
    for value in objs:
        if not raw:
            show_value(value, **about)
        elif notebook is not None:
            show_in_notebook(value, str(value.get('text/plain', '')), **about)
        else:
            print(show_forms(value, str(value.get('text/plain', ''))))
    return handle

def update_display(obj, *, display_id, **options):
    display(obj, display_id=display_id, update=True, **options)

def publish_display_data(data, metadata=None, update=False, transient=None, **options):
    display(data, raw=True, metadata=metadata, update=update, display_id=(transient or {}).get('display_id'))

# Text that was printed stays.
def clear_output(wait=False):
    if notebook is not None:
        return tell('clear_output', {'wait': bool(wait)})
    for one in displays:
        for name in one['files'].values():
            if name.startswith(displays_folder):
                try:
                    os.unlink(os.path.join(workspace, name))
                except OSError:
                    pass
    displays.clear()

close_figures = True

# Figures that are open at the end of code are shown as by show(), each once, and closed.
def show_figures():
    plt = sys.modules.get('matplotlib.pyplot')
    if plt is None or not hasattr(plt, 'get_fignums') or not plt.get_fignums():
        return
    plt.show()
    if close_figures:
        plt.close('all')

def show_at_once(plt):
    if notebook is not None:
        figures_in_notebook(plt)
    return notebook is not None

def figure_shown(figure, name):
    size = '<Figure size %gx%g with %d Axes>' % (*(figure.get_size_inches() * figure.dpi), len(figure.axes))
    noted(['text/plain'] + ['image/png'] * bool(name), {'image/png': name} if name else {})
    print('%s [%s]' % (size, name) if name else size)
