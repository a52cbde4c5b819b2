#include "managers/kernel_state.hpp"

namespace cmcp {

// Both ends are the same interpreter, so a function's code may go as it is. Its globals are the other kernel's.
const std::string_view kernel_state_common = R"PY(
import enum, functools, gc, importlib, io, marshal, pickle, random

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
)PY";

// Nothing becomes a variable before everything was made.
const std::string_view kernel_state_take = R"PY(
class Pieces(io.RawIOBase):
    left, ended = 0, False

    def readable(self):
        return True

    def next(self):
        if not self.left and not self.ended:
            self.left = struct.unpack('>I', read_exactly(4))[0] & 0x7fffffff
            self.ended = not self.left
        return not self.ended

    def readinto(self, space):
        if not self.next():
            return 0
        got = os.readv(link, [memoryview(space)[:self.left]])
        if not got:
            os._exit(0)
        self.left -= got
        return got

class Reader(pickle.Unpickler):
    def find_class(self, module, name):
        return getattr(own, name) if module == own.__name__ else super().find_class(module, name)

def put_settings(given):
    global count
    count = given['count']
    linecache.cache.update(given['sources'])
    sys.path[:] = given['path']
    sys.setrecursionlimit(given['recursion'])
    random.setstate(given['random'])
    os.environ.clear()
    os.environ.update(given['environment'])
    try:
        os.chdir(given['folder'])
    except OSError:
        pass
    if 'numpy' in given:
        importlib.import_module('numpy.random').set_state(given['numpy'])
    if 'matplotlib' in given:
        dict.update(importlib.import_module('matplotlib').rcParams, given['matplotlib'])

def put_figures(shown):
    if not shown:
        return
    manager = importlib.import_module('matplotlib._pylab_helpers').Gcf.figs
    made = {one.canvas.figure: one for one in manager.values()}
    manager.clear()
    for name, figure in shown:
        made[figure].num = int(name.split()[1])
        manager[made[figure].num] = made[figure]

def bring(names):
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException:
            pass                                # what needs it says so

def load_all(reader, names):
    made = []
    for name in names:
        try:
            made.append((name, reader.load()))
        except BaseException as problem:
            return made, {'name': name, 'reason': reason(problem)}
    return made, None

def take(message):
    pieces = Pieces()
    stream = io.BufferedReader(pieces, 1 << 16)
    reader = Reader(stream)
    problem = None
    try:
        given = reader.load(), reader.load(), reader.load(), reader.load()
        sys.path[:] = given[1]['path']
        bring(given[0])
        put_settings(given[1])
        variables, problem = load_all(reader, given[2])
        shown, problem = load_all(reader, given[3]) if problem is None else ([], problem)
    except BaseException as failure:
        problem = {'name': '', 'reason': reason(failure)}
    rest = bytearray(longest)
    while not pieces.ended:
        pieces.readinto(rest)
    if problem is not None:
        return {'problem': problem}
    put_figures(shown)
    main.__dict__.update(variables)
    return {}
)PY";

}  // namespace cmcp
