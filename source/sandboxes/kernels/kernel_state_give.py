# Everything is written to nowhere first, which copies no large memory, so that the stream holds nothing that fails.
def found_by_name(value):
    home = sys.modules.get(getattr(value, '__module__', None))
    if home is None or home is main:
        return False
    try:
        for part in value.__qualname__.split('.'):
            home = getattr(home, part)
    except AttributeError:
        return False
    return home is value

def globals_of(function):
    names = function.__globals__
    if names is main.__dict__:
        return None
    used, codes = {'__name__', '__builtins__'}, [function.__code__]
    while codes:
        code = codes.pop()
        used.update(code.co_names)
        codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return {name: names[name] for name in used if name in names}

def function_parts(function):
    state = {name: getattr(function, name) for name in ('__defaults__', '__kwdefaults__', '__annotations__', '__doc__',
                                                        '__qualname__', '__module__', '__dict__')}
    start = marshal.dumps(function.__code__), function.__name__, function.__closure__, globals_of(function)
    return make_function, start, state, None, None, fill_function

made_by_enum = {'__new__', '__new_member__', '_new_member_', '_generate_next_value_'}

def class_parts(made):
    space = {name: value for name, value in made.__dict__.items() if name not in ('__dict__', '__weakref__', '_abc_impl')}
    kind, name = type(made), made.__name__
    first = {key: space.pop(key) for key in ('__module__', '__qualname__', '__doc__') if key in space}
    if isinstance(made, enum.EnumMeta):
        members = [(key, one.value) for key, one in made.__members__.items()]
        methods = types.FunctionType, property, classmethod, staticmethod
        own_ones = {key: value for key, value in space.items() if isinstance(value, methods) and key not in made_by_enum}
        return make_enum, (kind, name, made.__bases__, members, {**first, **own_ones})
    slots = space.pop('__slots__', None)
    if slots is not None:
        first['__slots__'] = slots
        for slot in (slots,) if isinstance(slots, str) else slots:
            hidden = slot.startswith('__') and not slot.endswith('__')
            space.pop('_' + name.lstrip('_') + slot if hidden else slot, None)
    bases = space.get('__orig_bases__', ())
    bases = bases if types.resolve_bases(bases) == made.__bases__ else made.__bases__
    return make_class, (kind, name, bases, first), space, None, None, fill_class

def type_parts(value):
    if not value.__flags__ & 1 << 9:            # made in C, not by a class statement
        name = next((name for name, one in vars(types).items() if one is value), None)
        return NotImplemented if name is None else (getattr, (types, name))
    return class_parts(value)

def module_parts(module):
    if module is main:
        return main_module, ()
    module = module.__dict__.get('_cmcp_copy_of', module)
    if sys.modules.get(module.__name__) is module:
        return importlib.import_module, (module.__name__,)
    return types.ModuleType, (module.__name__,), dict(module.__dict__), None, None, fill_module

def type_variable_parts(one):
    return make_type_variable, (one.__name__, one.__constraints__, one.__bound__, one.__covariant__, one.__contravariant__)

parts = {
    types.CellType: lambda cell: (make_cell, ()) + (((cell.cell_contents,), None, None, fill_cell) if filled(cell) else ()),
    types.ModuleType: module_parts,
    types.MappingProxyType: lambda view: (types.MappingProxyType, (dict(view),)),
    types.CodeType: lambda code: (marshal.loads, (marshal.dumps(code),)),
    property: lambda one: (property, (one.fget, one.fset, one.fdel, one.__doc__)),
    staticmethod: lambda one: (staticmethod, (one.__func__,)),
    classmethod: lambda one: (classmethod, (one.__func__,)),
    functools.cached_property: lambda one: (make_property, (one.func, one.attrname)),
}

def filled(cell):
    try:
        cell.cell_contents
        return True
    except ValueError:
        return False

known = {id(type(None)), id(type(...)), id(type(NotImplemented))}

# Objects that are told apart by being themselves.
def singletons():
    dataclasses = sys.modules.get('dataclasses')
    names = ('MISSING', 'KW_ONLY', '_FIELD', '_FIELD_CLASSVAR', '_FIELD_INITVAR', '_HAS_DEFAULT_FACTORY')
    return {id(getattr(dataclasses, name)): (getattr, (dataclasses, name)) for name in names if hasattr(dataclasses, name)}

class Writer(pickle.Pickler):
    def __init__(self, sink):
        super().__init__(sink, 5)
        self.alone = singletons()
        self.parts = dict(parts)
        typing = sys.modules.get('typing')
        if typing:
            self.parts[typing.TypeVar] = type_variable_parts

    def reducer_override(self, value):
        kind = type(value)
        if kind is types.FunctionType:
            return NotImplemented if found_by_name(value) else function_parts(value)
        if isinstance(value, type):
            return NotImplemented if found_by_name(value) or id(value) in known else type_parts(value)
        if id(value) in self.alone:
            return self.alone[id(value)]
        if kind in self.parts:
            return self.parts[kind](value)
        if kind is functools._lru_cache_wrapper and not found_by_name(value):
            return make_cached, (value.__wrapped__, value.cache_parameters())
        return NotImplemented

class Nowhere:
    def write(self, data):
        pass

# Pieces with their length before them, which the server passes on; an interrupt waits until a piece is whole.
class Link:
    def write(self, data):
        view = data.raw() if isinstance(data, pickle.PickleBuffer) else memoryview(data).cast('B')
        for at in range(0, len(view), longest):
            self.put(view[at:at + longest])

    def put(self, piece):
        data = [struct.pack('>I', 0x80000000 | len(piece)), piece]
        with undisturbed(), link_alone():
            while data:
                done = os.writev(link, data)
                while data and done >= len(data[0]):
                    done -= len(data.pop(0))
                if data and done:
                    data[0] = memoryview(data[0])[done:]

def settings():
    made = {'path': list(sys.path), 'folder': os.getcwd(), 'environment': dict(os.environ),
            'recursion': sys.getrecursionlimit(), 'count': count, 'features': features, 'inputs': inputs[:],
            'sources': {name: entry for name, entry in linecache.cache.items() if name.startswith('In[')}}
    if hasattr(sys.modules.get('random'), 'getstate'):      # it may be a module of the code
        made['random'] = sys.modules['random'].getstate()
    if 'numpy.random' in sys.modules:
        made['numpy'] = sys.modules['numpy.random'].get_state()
    if 'matplotlib' in sys.modules:
        chosen = dict.items(sys.modules['matplotlib'].rcParams)
        made['matplotlib'] = {name: value for name, value in chosen if not name.startswith('backend')}
    return {name: value for name, value in made.items() if check(name, value) is None}

def figures():
    if 'matplotlib.pyplot' not in sys.modules:
        return []
    managers = sys.modules['matplotlib._pylab_helpers'].Gcf.figs
    return [(number, one.canvas.figure) for number, one in managers.items()]

def check(name, value):
    try:
        Writer(Nowhere()).dump(value)
        return None
    except (Exception, RecursionError) as problem:
        return {'name': name, 'reason': reason(problem)}

def checked(items, left_out):
    """Those that can go, and why the others cannot."""
    items = [(name, value) for name, value in items if name not in left_out]
    try:
        Writer(Nowhere()).dump([value for name, value in items])
        return items, []
    except (Exception, RecursionError):
        pass
    problems = [check(name, value) for name, value in items]
    return [item for item, problem in zip(items, problems) if problem is None], [one for one in problems if one]

def give(message):
    gc.collect()
    left_out = set(message['left_out'])
    variables = [(name, value) for name, value in main.__dict__.items() if name not in plain and name not in given_names]
    variables, problems = checked(variables, left_out)
    shown, more = checked([('figure %d' % number, figure) for number, figure in figures()], left_out)
    sink = Link()
    writer = Writer(sink)
    try:
        writer.dump([name for name in sys.modules if name not in first_modules and name != own.__name__])
        writer.dump(settings())
        writer.dump([name for name, value in variables])
        writer.dump([name for name, value in shown])
        for name, value in variables + shown:
            writer.dump(value)
    finally:
        sink.put(b'')
    return {'variables': len(variables), 'figures': len(shown), 'problems': problems + more}
