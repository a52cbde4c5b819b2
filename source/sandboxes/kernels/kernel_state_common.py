# Both ends are the same interpreter, so a function's code may go as it is. Its globals are the other kernel's.
import enum, functools, gc, importlib, io, marshal, pickle

own = sys.modules['_cmcp_state'] = types.ModuleType('_cmcp_state')
main = sys.modules['__main__']
plain = {'__name__', '__doc__', '__package__', '__loader__', '__spec__', '__builtins__'}
longest = 1 << 20

def offered(function):
    function.__module__, function.__qualname__ = own.__name__, function.__name__
    setattr(own, function.__name__, function)
    return function

def reason(problem):
    return cut(' '.join(('%s: %s' % (type(problem).__name__, problem)).split()), 300)

@offered
def main_module():
    return main

@offered
def make_function(code, name, cells, names):
    return types.FunctionType(marshal.loads(code), main.__dict__ if names is None else names, name, None, cells)

@offered
def fill_function(function, state):
    state = dict(state)
    function.__dict__.update(state.pop('__dict__'))
    for name, value in state.items():
        setattr(function, name, value)

@offered
def make_cell():
    return types.CellType()

@offered
def fill_cell(cell, state):
    cell.cell_contents, = state

@offered
def make_class(kind, name, bases, first):
    return types.new_class(name, bases, {'metaclass': kind}, lambda space: space.update(first))

@offered
def make_enum(kind, name, bases, members, first):
    space = kind.__prepare__(name, bases)
    for key, value in members:
        space[key] = value
    for key, value in first.items():
        space[key] = value
    return kind.__new__(kind, name, bases, space)

@offered
def fill_class(made, state):
    for name, value in state.items():
        setattr(made, name, value)

@offered
def fill_module(module, state):
    module.__dict__.update(state)

@offered
def make_cached(function, parameters):
    return functools.lru_cache(**parameters)(function)

@offered
def make_property(function, name):
    made = functools.cached_property(function)
    made.__set_name__(None, name) if name is not None else None
    return made

@offered
def make_type_variable(name, bounds, bound, covariant, contravariant):
    import typing
    return typing.TypeVar(name, *bounds, bound=bound, covariant=covariant, contravariant=contravariant)
