# Nothing becomes a variable before everything was made.
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
    global count, features
    count, features = given.get('count', count), given.get('features', features)
    inputs[:] = given.get('inputs', [''])
    linecache.cache.update(given['sources'])
    sys.path[:] = given['path']
    sys.setrecursionlimit(given['recursion'])
    os.environ.clear()
    os.environ.update(given['environment'])
    try:
        os.chdir(given['folder'])
    except OSError:
        pass
    if 'random' in given:
        importlib.import_module('random').setstate(given['random'])
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
            return made, {'name': name, 'reason': reason(problem), 'rest': [each for each in names if each not in dict(made)][1:]}
    return made, None

def load_state(reader):
    """The variables and open figures that could be made, and the first that could not."""
    try:
        given = reader.load(), reader.load(), reader.load(), reader.load()
        sys.path[:] = given[1]['path']
        bring(given[0])
        put_settings(given[1])
        variables, problem = load_all(reader, given[2])
        shown, problem = load_all(reader, given[3]) if problem is None else ([], problem)
        put_figures(shown if problem is None else [])
        return variables, problem
    except BaseException as failure:
        return [], {'name': '', 'reason': reason(failure), 'rest': []}

def take(message):
    pieces = Pieces()
    stream = io.BufferedReader(pieces, 1 << 16)
    variables, problem = load_state(Reader(stream))
    rest = bytearray(longest)
    while not pieces.ended:
        pieces.readinto(rest)
    if problem is not None:
        return {'problem': problem}
    main.__dict__.update(variables)
    return {}
