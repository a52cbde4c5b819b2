# What code takes from IPython, where that is not installed: displays, the shell, a few names that other packages look
# for. Compiled when it is imported.
import importlib.machinery, mimetypes

class Shown:
    """Data with one form, from a text, a file or an address."""
    binary = False

    def __init__(self, data=None, url=None, filename=None, metadata=None, **options):
        if url is None and isinstance(data, str) and data.startswith(('http://', 'https://')) and '\n' not in data:
            url, data = data, None
        if filename is None and self.binary and isinstance(data, (str, os.PathLike)) and os.path.exists(data):
            filename, data = data, None
        self.url, self.filename, self.metadata, self.data = url, filename, metadata or {}, data
        for name, value in options.items():
            setattr(self, name, value)
        self.reload()

    def reload(self):
        if self.filename is not None:
            with open(self.filename, 'rb' if self.binary else 'r') as file:
                self.data = file.read()
        elif self.url is not None and self.data is None:
            import urllib.request
            with urllib.request.urlopen(self.url) as reply:
                self.data = reply.read() if self.binary else reply.read().decode()

def shown_as(kind, name, *methods):
    made = type(name, (Shown,), {'__doc__': 'Data that is shown as %s.' % kind, '__module__': 'IPython.core.display',
                                 '__repr__': lambda self: '<IPython.core.display.%s object>' % name,
                                 '_repr_mimebundle_': lambda self, include=None, exclude=None: {kind: self.data}})
    return made

HTML = shown_as('text/html', 'HTML')
HTML.__html__ = lambda self: self.data
Markdown, Latex, SVG = shown_as('text/markdown', 'Markdown'), shown_as('text/latex', 'Latex'), shown_as('image/svg+xml', 'SVG')
JSON, GeoJSON, Javascript = shown_as('application/json', 'JSON'), shown_as('application/geo+json', 'GeoJSON'), shown_as('application/javascript', 'Javascript')
Pretty, DisplayObject = shown_as('text/plain', 'Pretty'), Shown
Math = type('Math', (Latex,), {'_repr_mimebundle_': lambda self, include=None, exclude=None: {'text/latex': '$\\displaystyle %s$' % self.data.strip('$')}})

def kind_of_picture(data):
    for begin, kind in ((b'\x89PNG', 'png'), (b'\xff\xd8', 'jpeg'), (b'GIF8', 'gif'), (b'RIFF', 'webp')):
        if data[:len(begin)] == begin:
            return kind
    raise ValueError('Image: the data is no PNG, JPEG, GIF or WebP.')

class Image(Shown):
    """A picture: its bytes, a file or an address."""
    binary = True

    def __repr__(self):
        return '<IPython.core.display.Image object>'

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = self.data.encode('latin-1') if isinstance(self.data, str) else bytes(self.data)
        return {'image/' + kind_of_picture(data): data}

class Page:
    """A page or a sound by its address."""
    def __init__(self, src=None, *values, **options):
        self.src = src

    def _repr_html_(self):
        return '<iframe src="%s"></iframe>' % self.src

    def __repr__(self):
        return '<%s %s>' % (type(self).__name__, self.src)

def shown_with(kind, form):
    def show(*values, raw=False, metadata=None, **options):
        for value in values:
            data = value if raw else getattr(value, form)()
            display({kind: data, 'text/plain': safe_repr(value)}, raw=True)
    return show

def register(kind):
    def decorator(name):
        if callable(name):
            the_shell.register_magic_function(name, kind)
            return name
        return lambda function: (the_shell.register_magic_function(function, kind, name), function)[1]
    return decorator

shell()
ZMQInteractiveShell.ast_node_interactivity = 'last_expr'
shows = dict(HTML=HTML, Markdown=Markdown, Latex=Latex, SVG=SVG, JSON=JSON, GeoJSON=GeoJSON, Javascript=Javascript, Pretty=Pretty, Math=Math, Image=Image,
             DisplayObject=Shown, TextDisplayObject=Shown, IFrame=Page, Audio=Page, Video=Page, YouTubeVideo=Page, FileLink=Page, FileLinks=Page,
             Code=Pretty, DisplayHandle=Handle, display=display, update_display=update_display, clear_output=clear_output,
             publish_display_data=publish_display_data, set_matplotlib_formats=lambda *values, **options: None,
             **{'display_' + form: shown_with(kind, '_repr_%s_' % form) for form, kind in
                (('html', 'text/html'), ('markdown', 'text/markdown'), ('latex', 'text/latex'), ('png', 'image/png'), ('svg', 'image/svg+xml'), ('json', 'application/json'))})
names_of = {
    'IPython': dict(get_ipython=get_ipython, display=display, version_info=tuple(map(int, interface_version.split('.'))), __version__=interface_version, __path__=[]),
    'IPython.display': shows,
    'IPython.core': dict(__path__=[]),
    'IPython.core.display': shows,
    'IPython.core.display_functions': shows,
    'IPython.core.getipython': dict(get_ipython=get_ipython),
    'IPython.core.interactiveshell': dict(InteractiveShell=ZMQInteractiveShell),
    'IPython.core.magic': dict(register_line_magic=register('line'), register_cell_magic=register('cell')),
    'IPython.core.pylabtools': dict(backend2gui={}),
}

class StandIn:
    def find_spec(self, name, path=None, target=None):
        if name in names_of:
            return importlib.machinery.ModuleSpec(name, self, is_package='__path__' in names_of[name])

    def create_module(self, spec):
        return None

    def exec_module(self, made):
        made.__dict__.update(names_of[made.__name__])
        first_modules.add(made.__name__)        # a copy of the kernel has its own

sys.meta_path.append(StandIn())
