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
