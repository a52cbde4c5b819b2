# Patches the modules that show figures; stands behind python_figures.
def show_instead(value, ending, make):
    if forms_of(value):
        display(value)
    else:
        display({'text/html': make(value), 'text/plain': safe_repr(value)}, raw=True)

def take_plotly_over(loaded):
    loaded.BaseFigure._ipython_display_ = lambda figure: display(figure)

figure_hooks = hooks_of_figures(show_instead, shown=figure_shown, at_once=show_at_once)

def patch_figures(loaded):
    figure_hooks[loaded.__name__](loaded)
    if loaded.__name__ == 'plotly.basedatatypes':
        take_plotly_over(loaded)
    if loaded.__name__ == 'PIL.Image':
        show_what_is_saved(loaded.Image)

# As E2B's interpreter: a picture that code stores under a name is a result, too.
def show_what_is_saved(kind):
    plain_save = kind.save
    @functools.wraps(plain_save)
    def save(image, fp, *values, **options):
        plain_save(image, fp, *values, **options)
        if isinstance(fp, str) and wants_data():
            display(image)
    kind.save = save
