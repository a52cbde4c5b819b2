import importlib, importlib.metadata, json, os, runpy, shutil, site, socket, subprocess, sys, tarfile, tempfile, threading

HOME = os.path.expanduser('~')

# importlib.metadata reads the folder of the caller's packages, so that pip knows them; an import finds nothing there. Versions of
# pip ask by all of these, pip 23 by find_module() for packages that are spread over folders.
class NoModules:
    def find_spec(self, name, target=None):
        return None

    def find_module(self, name):
        return None

    def find_loader(self, name):
        return None, []

    def iter_modules(self, prefix=''):
        return []

    def invalidate_caches(self):
        pass

def pip_packages():
    versions = {}
    for each in importlib.metadata.distributions(path=[site.getusersitepackages()]):
        if each.metadata['Name']:
            versions[each.metadata['Name'].lower().replace('_', '-')] = each.version
    return versions

def npm_packages():
    versions, folder = {}, 'node_modules'
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        for inner in sorted(os.listdir(os.path.join(folder, name))) if name.startswith('@') else ['']:
            try:
                with open(os.path.join(folder, name, inner, 'package.json')) as file:
                    versions['npm:' + name + ('/' + inner if inner else '')] = json.load(file)['version']
            except (OSError, KeyError, ValueError):
                pass
    return versions

def packages():
    return {**pip_packages(), **npm_packages()}

# What pip would find to be there, without pip, which takes a second to begin. Where this cannot tell, packages are fetched.
def is_there(text, seen, extra=''):
    from pip._vendor.packaging.requirements import Requirement
    wanted = Requirement(text)
    if wanted.marker and not wanted.marker.evaluate({'extra': extra}):
        return True
    found = next(iter(importlib.metadata.distributions(name=wanted.name, path=[site.getusersitepackages(), *sys.path])), None)
    if not found or not wanted.specifier.contains(found.version, prereleases=True):
        return False
    for each in [('', ''), *((extra, extra) for extra in wanted.extras)]:
        key = (wanted.name.lower(), each[1])
        if key not in seen:
            seen.add(key)
            if not all(is_there(needed, seen, each[1]) for needed in found.requires or []):
                return False
    return True

def are_there(names):
    try:
        return all(is_there(name, set()) for name in names)
    except Exception:
        return False

# The archive comes from a run that could write anything into it, so a name that leads out of the folder is left out.
def unpack(folder):
    if not socket.socket(fileno=os.dup(3)).recv(1, socket.MSG_PEEK):
        os._exit(1)  # nothing was fetched, and the server knows why
    link = os.fdopen(3, 'rb', buffering=0)
    with tarfile.open(fileobj=link, mode='r|') as archive:
        for each in archive:
            place = os.path.normpath(os.path.join(folder, each.name))
            if each.isfile() and place.startswith(folder + os.sep):
                os.makedirs(os.path.dirname(place), exist_ok=True)
                with open(place, 'wb') as file:
                    shutil.copyfileobj(archive.extractfile(each), file)
    threading.Thread(target=end_with, args=(link,), daemon=True).start()

# A container outlives a server that is killed, and the next server must not meet an installation that goes on.
def end_with(link):
    while link.read(65536):
        pass
    os._exit(1)

def run_pip(words):
    packages_of_caller = site.getusersitepackages()
    sys.path_importer_cache[packages_of_caller] = NoModules()
    sys.path.insert(0, packages_of_caller)
    sys.argv = words
    try:
        runpy.run_module('pip', run_name='__main__', alter_sys=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1 if end.code else 0
    return 0

# While others fetch. Of a pip that has other modules, less is loaded now and the rest later.
def load_pip():
    for module in 'cli.main', 'commands.install', 'resolution.resolvelib.resolver', 'metadata.importlib', 'operations.prepare', 'operations.install.wheel':
        try:
            importlib.import_module('pip._internal.' + module)
        except Exception:
            pass

def run_npm(words):
    # A program that the caller called "node" must not become npm's.
    path = [each for each in os.environ['PATH'].split(':') if not each.startswith(HOME + '/')]
    environment = {name: value for name, value in os.environ.items() if name != 'NODE_PATH'}
    return subprocess.run(words, env=dict(environment, PATH=':'.join(path)), stdin=subprocess.DEVNULL).returncode

words = sys.argv[1:]
names = words[words.index('--') + 1:] if '--' in words else []
os.set_inheritable(4, False)
before = packages()
if words[0] == 'pip' and are_there(names):
    print('\n'.join('Requirement already satisfied: ' + name for name in names))
    status = 0
elif words[0] == 'pip':
    os.write(3, b'f')
    os.environ['_PIP_USE_IMPORTLIB_METADATA'] = '1'
    load_pip()
    os.environ['PIP_FIND_LINKS'] = tempfile.mkdtemp()
    unpack(os.environ['PIP_FIND_LINKS'])
    status = run_pip(words)
else:
    os.write(3, b'f')
    unpack(HOME + '/.npm')
    status = run_npm(words)
data = json.dumps({'before': before, 'after': packages()}).encode()
while data:
    data = data[os.write(4, data):]
sys.stdout.flush()
os._exit(status if status >= 0 else 128 - status)
