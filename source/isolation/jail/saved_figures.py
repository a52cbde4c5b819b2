# The module by which Python that a command starts saves figures as files; it stands behind python_common and
# python_figures.
hooks = when_imported(hooks_of_figures(save_shown))
