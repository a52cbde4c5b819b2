# Keeps the state in a file of the workspace, for the kernel that comes after this one: a pickle of what it is about, and
# what give() writes. A file that is whole takes its name at last.
class Counted:
    def __init__(self, file=None, most=None):
        self.file, self.most, self.size = file, most, 0

    def write(self, data):
        view = data.raw() if isinstance(data, pickle.PickleBuffer) else memoryview(data).cast('B')
        self.size += len(view)
        if self.most is not None and self.size > self.most:
            raise OSError('%d MiB are no room for the variables' % (self.most >> 20))
        if self.file is not None:
            self.file.write(view)

def size_of(values):
    sink = Counted()
    Writer(sink).dump(values)
    return sink.size

# The largest are left out, until the others have room.
def fitting(items, most):
    if size_of([value for name, value in items]) <= most:
        return items, []
    sizes = sorted(((size_of(value), name) for name, value in items), reverse=True)
    total, left = sum(size for size, name in sizes), []
    while sizes and total > most:
        size, name = sizes.pop(0)
        total -= size
        left.append({'name': name, 'reason': '%d MiB are too much, %d MiB are kept' % (size >> 20, most >> 20)})
    names = {one['name'] for one in left}
    return [item for item in items if item[0] not in names], left

def keep(message):
    gc.collect()
    most = message['most']
    variables, problems = checked([(name, value) for name, value in main.__dict__.items() if name not in plain and name not in given_names], ())
    variables, large = fitting(variables, most - most // 16)
    about = {'python': sys.version_info[:2], 'problems': problems + large, 'variables': len(variables)}
    folder = os.path.join(workspace, kept_folder)
    os.makedirs(folder, exist_ok=True)
    place = os.path.join(folder, 'writing')
    try:
        with open(place, 'wb') as file:
            sink = Counted(file, most)
            pickle.Pickler(sink).dump(about)
            writer = Writer(sink)
            writer.dump([name for name in sys.modules if name not in first_modules and name != own.__name__])
            writer.dump(settings())
            writer.dump([name for name, value in variables])
            writer.dump([])
            for name, value in variables:
                writer.dump(value)
        os.rename(place, os.path.join(folder, 'state'))
    except BaseException:
        os.unlink(place)
        raise
    return {'variables': len(variables), 'bytes': sink.size, 'left_out': about['problems']}
