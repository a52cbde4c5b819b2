# What code shows beside what it prints. A value's forms are those that notebooks ask it for. Text goes to standard
# output in its place; every other form becomes a file of the workspace, which the answer names.
import base64, functools

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
behind_cell = False                             # the latest code was one, and what it left behind shows on
payload = []                                    # what such a cell asks of its client (kernel_asking.py)
inputs, results, visited = [''], {}, []         # In, Out and folders of such cells (kernel_history.py)
given_names = set()                             # names of the code that stand for these
interface_version = '8.0.0'                     # of the IPython that code finds here
captured = None                                 # displays of such a cell that go nowhere else

def client_shows():
    return notebook is not None or behind_cell

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
    figure._cmcp_saved = True
    if len(figure.get_children()) < 2:          # its background alone
        return None
    data = io.BytesIO()
    in_cell("save(data, format='png', bbox_inches='tight')", save=figure.savefig, data=data)
    return data.getvalue()

def is_one_of(value, module, name):
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)

def wants_data():
    return notebook is not None and bool(notebook.get('data_forms'))

def forms_of(value):
    """{mime type: data} without text/plain; empty: the value is plain."""
    forms = shown_forms_of(value)
    if wants_data():
        forms.update(form_of(data_forms, value) or {})
    return forms

def shown_forms_of(value):
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
    if client_shows():
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
        elif client_shows():
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
    if client_shows():
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
    in_cell('show()', show=plt.show)
    if close_figures:
        plt.close('all')

def show_at_once(plt):
    if client_shows():
        figures_in_notebook(plt)
    return client_shows()

def figure_shown(figure, name):
    size = '<Figure size %gx%g with %d Axes>' % (*(figure.get_size_inches() * figure.dpi), len(figure.axes))
    noted(['text/plain'] + ['image/png'] * bool(name), {'image/png': name} if name else {})
    print('%s [%s]' % (size, name) if name else size)

# Only the client of a notebook's cell has a person before it, and only the cell itself may ask.
def person_is_there():
    return notebook is not None and notebook.get('allow_stdin') and os.getpid() == owner and threading.current_thread() is threading.main_thread()

def typed(name, prompt, hidden):
    if person_is_there():
        return ask_person(prompt, hidden)
    raise RuntimeError('%s() has nobody to ask here for input: assign the value to a variable in the code, or read it from a file of the sandbox.' % name)

def read_password(prompt='Password: ', stream=None):
    """Asks the person before the notebook for a line that is not shown."""
    return typed('getpass', prompt, True)

import getpass as for_passwords
read_password.__module__, read_password.__qualname__ = 'getpass', 'getpass'
for_passwords.getpass = for_passwords.unix_getpass = read_password

# By which inspect finds the source of our functions.
def keep_source(name):
    if name in later:
        file = '<%s>' % name
        linecache.cache[file] = (len(later[name]), None, later[name].splitlines(True), file)
