# Code of callers: read, run and shown as a notebook does it. Names that it has are those of a module of its own.
import __future__, ast, contextlib, fcntl, importlib, importlib.util, linecache, queue, resource, signal, site, struct, threading, time, traceback

signal, time, traceback = map(own_copy_of, (signal, time, traceback))
first_path = sys.path[:]

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
    with loading:
        keep_source(name)
        program = later.pop(name, None)
        if program is not None:
            with undisturbed() if threading.current_thread() is threading.main_thread() else contextlib.nullcontext():
                run_own(program, '<%s>' % name)

loading = threading.RLock()

def taken_later(program, *names):
    """Functions that a later program defines, which is run when one of them is first called."""
    for name in names:
        def first_call(*values, name=name, **options):
            load_later(program)
            return globals()[name](*values, **options)
        globals()[name] = first_call

# The folders of the code, which may have a module random.py, are not searched for what our programs import.
def run_own(program, name):
    kept, sys.path = sys.path, first_path[:]
    try:
        exec(compile(program, name, 'exec'), globals())
    finally:
        sys.path = kept

def shell():
    load_later('kernel_magics')
    return the_shell

def get_ipython():
    """The notebook's shell: magics, commands, names of the code."""
    return shell()

def no_input(prompt=''):
    """Asks the person before the notebook for a line."""
    return typed('input', prompt, False)

for one, name in ((display, 'display'), (get_ipython, 'get_ipython'), (no_input, 'input')):
    one.__module__, one.__qualname__ = 'builtins', name
    setattr(builtins, name, one)

# Where IPython is not installed, a stand-in is imported.
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != 'IPython':
            return None
        sys.meta_path.remove(self)
        try:
            found = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if found is None:
            load_later('kernel_stand_in')
            return importlib.util.find_spec(name)
        return None

# Functions of others that show things, or belong to a notebook, are ours.
def take_over(loaded):
    for one in (display, update_display, publish_display_data, clear_output, get_ipython):
        if one.__name__ in vars(loaded):
            setattr(loaded, one.__name__, one)

# Their modules are patched by later programs.
of_figures = ('matplotlib.pyplot', 'plotly.basedatatypes', 'plotly.io._renderers', 'bokeh.io.showing', 'PIL.Image', 'altair.vegalite.v4.api', 'altair.vegalite.v5.api',
              'altair.vegalite.v6.api', 'webbrowser')
taken_later('kernel_figures', 'patch_figures')
taken_later('kernel_forms', 'plotly_forms', 'chart_forms', 'text_of_page', 'kept_form')
taken_later('kernel_data', 'data_forms')
taken_later('kernel_workers', 'tell_of_workers')
when_imported({**dict.fromkeys(of_figures, lambda loaded: patch_figures(loaded)), 'multiprocessing.reduction': lambda loaded: tell_of_workers(loaded),
               **dict.fromkeys(('IPython.core.display_functions', 'IPython.core.display', 'IPython.core.getipython'), take_over)})
sys.meta_path.insert(0, Finder())

def code_name(number):
    return 'In[%d]' % number

last_line = 0

# Runs a line of ours as the last one of the cell, so that warnings name that.
def in_cell(line, **names):
    exec(compile('\n' * (last_line - 1) + line, code_name(count), 'exec'), {**names, '__name__': '__main__'})

# As those of a file: the parser knows no other line ends, and traceback sets its marks by the last one.
def lines_of_file(source):
    return [line + '\n' for line in source.split('\n')]

def remember(source):
    global last_line
    name, last_line = code_name(count), source.rstrip('\n').count('\n') + 1
    linecache.cache[name] = (len(source), None, lines_of_file(source), name)
    return name

# Code that was copied from within a function begins with an indent.
def without_margin(source):
    first = next((line for line in source.split('\n') if line.strip()), '')
    margin = first[:len(first) - len(first.lstrip())]
    return '\n'.join(line.removeprefix(margin) for line in source.split('\n'))

def parsed(source, name):
    """The code as Python; with magics and commands where it is none."""
    try:
        return compile(source, name, 'exec', ast.PyCF_ONLY_AST)    # not ast.parse, which would stand in a traceback
    except SyntaxError as error:
        problem = error                         # what is tried next is no part of its story
    if isinstance(problem, IndentationError):
        if source == (moved := without_margin(source)):
            raise problem
        return parsed(moved, name)
    if not any(mark in source for mark in '%!?') and 'pip' not in source:
        raise problem
    shell()
    return compile(without_magics(source, problem), name, 'exec', ast.PyCF_ONLY_AST)

awaiting = getattr(ast, 'PyCF_ALLOW_TOP_LEVEL_AWAIT', 0)
features = 0                                    # of __future__, from the cell on that imports them

async def evaluate(tree, name, mode):
    code = compile(tree, name, mode, awaiting | features, dont_inherit=True)
    value = eval(code, module.__dict__)
    return await value if code.co_flags & 0x80 else value       # CO_COROUTINE

def add_features(tree):
    global features
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == '__future__':
            for each in node.names:
                features |= getattr(getattr(__future__, each.name, None), 'compiler_flag', 0)

def interactivity():
    chosen = getattr(sys.modules.get('IPython.core.interactiveshell'), 'InteractiveShell', None)
    return getattr(chosen, 'ast_node_interactivity', 'last_expr')

async def execute(source):
    """The answer's members for the value of the last expression."""
    global count, timed
    count, timed = count + 1, False
    name = remember(source)
    tree = parsed(source, name)
    add_features(tree)
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
    if notebook is not None:
        keep_result(value)
    if method_of(value, '_ipython_display_') and not is_one_of(value, 'plotly.basedatatypes', 'BaseFigure'):
        show_value(value)
        return {}
    made = forms_of(value)
    if notebook is not None:
        show_result(value, made)
        return {}
    if made:
        return {'result': show_forms(made, plain_form(value, made), True)}
    if 'Lines' in globals() and type(value) is Lines:
        value = list(value)                     # what a command printed
    form, is_repr = value_and_form(value)
    return {'result': form, 'result_is_repr': True} if is_repr else {'result': form}

# The loop of asynchronous code lives from call to call. Code that has to do with it runs inside of it.
loop, waiter, context = None, None, None

taken_later('kernel_loop', 'in_loop')

def wants_loop(source):
    return loop is not None or 'await' in source or 'async' in source

def run_source(source):
    work = execute(source)
    if wants_loop(source):
        return in_loop(work)
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError('The code awaits what needs a loop: write await in it, or import asyncio.')
