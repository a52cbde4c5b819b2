# Code of callers: read, run and shown as a notebook does it. Names that it has are those of a module of its own.
import ast, builtins, contextlib, importlib, importlib.util, io, json, linecache, os, queue, resource, signal, site, struct, sys, threading, time, traceback, types

module = sys.modules['__main__'] = types.ModuleType('__main__')
module.__builtins__ = __builtins__
workspace = sys.argv[1]
later = {}                                      # programs that are compiled when they are wanted
kept_folder = sys.argv[2]
forgets = sys.argv[3:] == ['forget']
sys.path += [workspace, '/run/container-mcp/python']
sys.argv = ['']
count = 0
first_modules = set(sys.modules)

def path_files(folder):
    try:
        return {name for name in os.listdir(folder) if name.endswith('.pth')}
    except OSError:
        return set()

# Packages are installed while the kernel lives. Python leaves a folder that is not there at its start off sys.path.
own_packages = site.getusersitepackages()
known_path_files = path_files(own_packages) if own_packages in sys.path else set()

def look_for_packages():
    importlib.invalidate_caches()
    if not site.ENABLE_USER_SITE or not os.path.isdir(own_packages):
        return
    system = set(site.getsitepackages())
    place = next((at for at, name in enumerate(sys.path) if name in system), len(sys.path))
    before = list(sys.path)
    if own_packages not in sys.path:
        sys.path.append(own_packages)
    for name in sorted(path_files(own_packages) - known_path_files):
        known_path_files.add(name)
        site.addpackage(own_packages, name, None)
    added = sys.path[len(before):]
    sys.path[:] = before[:place] + added + before[place:]

def load_later(name):
    """Runs one of the later programs among these names, once."""
    program = later.pop(name, None)
    if program is not None:
        exec(compile(program, '<%s>' % name, 'exec'), globals())

def shell():
    load_later('kernel_magics')
    return the_shell

def get_ipython():
    """The notebook's shell: magics, commands, names of the code."""
    return shell()

get_ipython.__module__ = 'builtins'

def no_input(prompt=''):
    raise RuntimeError('input() has nobody to ask here: assign the value to a variable in the code, or read it from a file of the sandbox.')

builtins.display, builtins.get_ipython, builtins.input = display, get_ipython, no_input

# Names of the notebook's own modules, and functions of others that show things, are ours.
class Finder:
    changed = {'plotly.basedatatypes', 'plotly.io._renderers', 'altair.vegalite.v4.api', 'altair.vegalite.v5.api',
               'IPython.core.display_functions', 'IPython.core.display', 'IPython.core.getipython'}

    def find_spec(self, name, path=None, target=None):
        if name == 'IPython':
            return self.stand_in(name)
        if name not in self.changed:
            return None
        self.changed.discard(name)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module
        def exec_module(loaded):
            load(loaded)
            take_over(loaded)
        spec.loader.exec_module = exec_module
        return spec

    def stand_in(self, name):
        sys.meta_path.remove(self)
        try:
            found = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if found is None:
            load_later('kernel_stand_in')
            return importlib.util.find_spec(name)
        return None

def show_figure(figure, *values, **options):
    if isinstance(figure, dict):
        from plotly.graph_objects import Figure
        figure = Figure(figure)
    display(figure)

# Their own functions want a browser, or a page with megabytes of scripts.
def take_over(loaded):
    if loaded.__name__ == 'plotly.basedatatypes':
        loaded.BaseFigure.show = show_figure
        loaded.BaseFigure._ipython_display_ = lambda figure: display(figure)
        return
    if loaded.__name__ == 'plotly.io._renderers':
        loaded.show = show_figure
        return
    if loaded.__name__.startswith('altair.'):
        loaded.TopLevelMixin.show = lambda chart, *values, **options: display(chart)
        return
    for one in (display, update_display, publish_display_data, clear_output, get_ipython):
        if one.__name__ in vars(loaded):
            setattr(loaded, one.__name__, one)

sys.meta_path.insert(0, Finder())
def json_form(value):
    try:
        text = json.dumps(value, allow_nan=False)
        if len(text) <= 1000000:
            return json.loads(text)
    except BaseException:
        pass
    return safe_repr(value)

def code_name(number):
    return 'In[%d]' % number

def remember(source):
    name = code_name(count)
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    return name

def parsed(source, name):
    """The code as Python; with magics and commands where it is none."""
    try:
        return ast.parse(source, name)
    except SyntaxError as problem:
        if not any(mark in source for mark in '%!?') and 'pip' not in source:
            raise
        shell()
        return ast.parse(without_magics(source, problem), name)

awaiting = getattr(ast, 'PyCF_ALLOW_TOP_LEVEL_AWAIT', 0)

async def evaluate(tree, name, mode):
    code = compile(tree, name, mode, awaiting, dont_inherit=True)
    value = eval(code, module.__dict__)
    return await value if code.co_flags & 0x80 else value       # CO_COROUTINE

def interactivity():
    chosen = getattr(sys.modules.get('IPython.core.interactiveshell'), 'InteractiveShell', None)
    return getattr(chosen, 'ast_node_interactivity', 'last_expr')

async def execute(source):
    """The answer's members for the value of the last expression."""
    global count, timed
    count, timed = count + 1, False
    name = remember(source)
    tree = parsed(source, name)
    begun = (time.perf_counter(), processor_time()) if timed else None
    try:
        return await evaluate_all(tree, name, source)
    finally:
        if begun:
            tell_times(*begun)

async def evaluate_all(tree, name, source):
    silent = source.rstrip().endswith(';') or interactivity() == 'none'
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) and not silent else None
    if interactivity() == 'all':
        for node in tree.body:
            if isinstance(node, ast.Expr):
                value = await evaluate(ast.Expression(node.value), name, 'eval')
                display(value) if value is not None else None
            else:
                await evaluate(ast.Module([node], []), name, 'exec')
    else:
        await evaluate(tree, name, 'exec')
    value = None if last is None else await evaluate(ast.Expression(last.value), name, 'eval')
    return {} if value is None else result_of(value)

def result_of(value):
    names = module.__dict__
    names['___'], names['__'] = names.get('__'), names.get('_')
    for name in ('___', '__'):
        if names[name] is None:
            del names[name]
    names['_'] = value
    if method_of(value, '_ipython_display_') and not is_one_of(value, 'plotly.basedatatypes', 'BaseFigure'):
        show_value(value)
        return {}
    made = forms_of(value)
    if notebook is not None:
        show_result(value, made)
        return {}
    return {'result': show_forms(made, plain_form(value, made), True) if made else json_form(value)}

# The loop of asynchronous code lives from call to call. Code that has to do with it runs inside of it.
loop, waiter, context = None, None, None

def the_loop():
    global loop, waiter, context
    if loop is None or loop.is_closed():
        import asyncio, concurrent.futures, contextvars
        loop, context = asyncio.new_event_loop(), contextvars.copy_context()
        waiter = waiter or concurrent.futures.ThreadPoolExecutor(1)
        asyncio.set_event_loop(loop)
        plain_run = asyncio.run
        def run(*values, **options):            # a script's way to begin its own
            here = asyncio._get_running_loop()
            if here is not loop:
                return plain_run(*values, **options)
            asyncio._set_running_loop(None)
            try:
                return plain_run(*values, **options)
            finally:
                asyncio._set_running_loop(here)
                asyncio.set_event_loop(loop)
        run.__doc__, run.__module__ = plain_run.__doc__, 'asyncio'
        if plain_run.__module__ != 'asyncio':
            asyncio.run = run
    return loop

def wants_loop(source):
    return loop is not None or 'await' in source or 'async' in source

def in_loop(work):
    try:
        task = the_loop().create_task(work, context=context)
    except TypeError:                           # Python before 3.11
        task = loop.create_task(work)
    try:
        return loop.run_until_complete(task)
    except KeyboardInterrupt:
        if not task.done():
            task.cancel()
            try:
                loop.run_until_complete(task)
            except BaseException:
                pass
        raise

def run_source(source):
    work = execute(source)
    if wants_loop(source):
        return in_loop(work)
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError('The code awaits what needs a loop: write await in it, or import asyncio.')
