def _install_figures(shown=None, at_once=None):
    import sys

    def patch(plt):
        import os
        from matplotlib.figure import Figure
        plain_save = Figure.savefig

        def is_picture(target):
            ending = os.path.splitext(os.fspath(target))[1].lower() if isinstance(target, (str, os.PathLike)) else '.buffer'
            return ending in ('', '.png', '.jpg', '.jpeg', '.webp')

        def savefig(self, *values, **options):
            made = plain_save(self, *values, **options)
            self._cmcp_saved = is_picture(values[0] if values else options.get('fname')) or getattr(self, '_cmcp_saved', False)
            return made

        def free_name():
            number = 1
            while os.path.lexists('plot-%d.png' % number):
                number += 1
            return 'plot-%d.png' % number

        def show(*values, **options):
            if at_once and at_once(plt):
                return
            current = plt.gcf().number if plt.get_fignums() else None
            for number in plt.get_fignums():
                figure = plt.figure(number)
                if getattr(figure, '_cmcp_saved', False):
                    continue
                name = free_name() if len(figure.get_children()) > 1 else None     # its background alone
                if name:
                    figure.savefig(name)
                figure._cmcp_saved = True
                if shown:
                    shown(figure, name)
            if current is not None:
                plt.figure(current)

        savefig.__doc__, show.__doc__ = plain_save.__doc__, plt.show.__doc__
        Figure.savefig, plt.show = savefig, show

    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name != 'matplotlib.pyplot':
                return None
            import importlib.util
            sys.meta_path.remove(self)
            spec = importlib.util.find_spec(name)
            if spec is None or spec.loader is None:
                return spec
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                patch(module)

            spec.loader.exec_module = exec_module
            return spec

    loaded = sys.modules.get('matplotlib.pyplot')
    if loaded is not None:
        return patch(loaded)
    sys.meta_path.insert(0, Finder())
