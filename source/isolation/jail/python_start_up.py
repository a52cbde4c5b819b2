# Every Python that a command starts in a sandbox loads this as sitecustomize. A thread's stack counts against the limit
# of memory with its whole size, and with the usual 8 MiB some sixty threads would reach it; 1 MiB is what Alpine's Python
# has. What shows figures saves them as files. The machine's or the image's own sitecustomize goes on as it would without
# this.
import _thread
import sys

_thread.stack_size(1 << 20)


class Figures:
    """Loads what saves figures once code imports a package that shows some: a start of Python has no time for more."""
    packages = 'matplotlib', 'plotly', 'bokeh', 'PIL', 'altair', 'webbrowser'

    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] not in self.packages:
            return None
        sys.meta_path.remove(self)
        import container_mcp_figures
        return container_mcp_figures.hooks.find_spec(name, path, target)


def load_the_other():
    here = __file__.rpartition('/')[0]
    finder = sys.modules['_frozen_importlib_external'].PathFinder
    found = finder.find_spec('sitecustomize', [each for each in sys.path if each != here])
    if found is None or found.loader is None:
        return
    module = sys.modules['_frozen_importlib'].module_from_spec(found)
    sys.modules['sitecustomize'] = module
    found.loader.exec_module(module)


sys.meta_path.insert(0, Figures())
load_the_other()
