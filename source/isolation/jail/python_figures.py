# Figures and pages that code shows in a window or a browser where there is one. Scripts save them, kernels display them.
def free_name(ending):
    number = 1
    while os.path.lexists('plot-%d.%s' % (number, ending)):
        number += 1
    return 'plot-%d.%s' % (number, ending)

def save_shown(value, ending, make):
    data, name = make(value), free_name(ending)
    with open(name, 'wb') as file:
        file.write(data if isinstance(data, bytes) else data.encode('utf-8', 'replace'))
    print_error('show() has saved %s.\n' % name)

# Fonts for what matplotlib's own lacks; one of each group, where the machine has it.
further_fonts = (('Noto Sans CJK JP', 'Noto Sans CJK SC', 'Noto Sans CJK TC', 'Noto Sans CJK KR', 'Noto Serif CJK JP', 'WenQuanYi Zen Hei', 'WenQuanYi Micro Hei',
                  'Droid Sans Fallback', 'IPAGothic', 'NanumGothic'), ('Noto Sans Devanagari', 'Lohit Devanagari'), ('Noto Sans Thai', 'Garuda'), ('Symbola', 'Noto Emoji'))

def add_fonts(matplotlib):
    names = {font.name for font in sys.modules['matplotlib.font_manager'].fontManager.ttflist}
    present = [next((name for name in group if name in names), None) for group in further_fonts]
    families = list(matplotlib.rcParams['font.family'])
    if families == ['sans-serif']:
        matplotlib.rcParams['font.family'] = families + [name for name in present if name]

def save_open_figures(plt, shown=None, at_once=None):
    """Makes show() save the open figures that were not saved yet as plot-1.png, plot-2.png, … in the working folder."""
    from matplotlib.figure import Figure
    plain_save, path, next_name = Figure.savefig, os.path, free_name
    paths = str, os.PathLike

    def is_picture(target):
        ending = path.splitext(os.fspath(target))[1].lower() if isinstance(target, paths) else '.buffer'
        return ending in ('', '.png', '.jpg', '.jpeg', '.webp')

    def savefig(self, *values, **options):
        made = plain_save(self, *values, **options)
        self._cmcp_saved = is_picture(values[0] if values else options.get('fname')) or getattr(self, '_cmcp_saved', False)
        return made

    def show(*values, **options):
        if at_once and at_once(plt):
            return
        current = plt.gcf().number if plt.get_fignums() else None
        for number in plt.get_fignums():
            figure = plt.figure(number)
            if getattr(figure, '_cmcp_saved', False):
                continue
            name = next_name('png') if len(figure.get_children()) > 1 else None     # its background alone
            if name:
                figure.savefig(name)
            figure._cmcp_saved = True
            if shown:
                shown(figure, name)
        if current is not None:
            plt.figure(current)

    # Matplotlib's warnings name the first frame that is not of a module of its own: not one of these two.
    savefig, show = (types.FunctionType(one.__code__, plt.__dict__, one.__name__, None, one.__closure__) for one in (savefig, show))
    savefig.__doc__, show.__doc__ = plain_save.__doc__, plt.show.__doc__
    Figure.savefig, plt.show = savefig, show
    try:
        add_fonts(sys.modules['matplotlib'])
    except Exception:
        pass                                    # other versions have other names

def plotly_page(figure):
    return figure.to_html(include_plotlyjs='cdn')

def bokeh_page(value):
    from bokeh.embed import file_html
    from bokeh.resources import CDN
    return file_html(value, CDN)

def altair_page(chart):
    return chart.to_html()

def picture_file(image):
    data = io.BytesIO()
    (image if image.mode in ('1', 'L', 'LA', 'P', 'RGB', 'RGBA', 'I', 'I;16') else image.convert('RGB')).save(data, 'PNG')
    return data.getvalue()

def no_browser(url, *values, **options):
    print('No browser is here to open %s.' % url, file=sys.stderr)
    return False

def patch_webbrowser(module):
    module.open = module.open_new = module.open_new_tab = no_browser

# What would open a window or a browser: `show` is given the value, the ending of its file and what makes the data.
def hooks_of_figures(show, **of_matplotlib):
    def plotly_show(figure, *values, **options):
        if isinstance(figure, dict):
            from plotly.graph_objects import Figure
            figure = Figure(figure)
        show(figure, 'html', plotly_page)

    def patch(path, shows):
        def action(module):
            *owners, name = path.split('.')
            for owner in owners:
                module = getattr(module, owner, None)
            if module is not None and hasattr(module, name):
                setattr(module, name, shows)
        return action

    def page(make, ending='html'):
        return lambda value, *values, **options: show(value, ending, make)

    altair = patch('TopLevelMixin.show', page(altair_page))
    return {'matplotlib.pyplot': lambda module: save_open_figures(module, **of_matplotlib),
            'plotly.basedatatypes': patch('BaseFigure.show', plotly_show), 'plotly.io._renderers': patch('show', plotly_show),
            'bokeh.io.showing': patch('show', page(bokeh_page)), 'PIL.Image': patch('Image.show', page(picture_file, 'png')),
            'altair.vegalite.v4.api': altair, 'altair.vegalite.v5.api': altair, 'altair.vegalite.v6.api': altair, 'webbrowser': patch_webbrowser}
