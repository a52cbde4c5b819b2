import importlib.metadata, json, os, site, socket, struct, subprocess, sys, threading

link = socket.socket(fileno=os.dup(3))
os.close(3)
os.set_inheritable(4, False)
writing = threading.Lock()
clients = {}

def say(kind, number, data=b''):
    with writing:
        link.sendall(struct.pack('>cII', kind, number, len(data)) + data)

def close(number):
    client = clients.pop(number, None)
    if client is not None:
        try:
            client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        client.close()

def from_client(number, client):
    say(b'o', number)
    try:
        while data := client.recv(65536):
            say(b'd', number, data)
    except OSError:
        pass
    say(b'c', number)

def exactly(count):
    data = b''
    while len(data) < count:
        piece = link.recv(count - len(data))
        if not piece:
            os._exit(1)
        data += piece
    return data

def from_link():
    while True:
        kind, number, size = struct.unpack('>cII', exactly(9))
        data = exactly(size)
        if kind == b'c':
            close(number)
        elif number in clients:
            try:
                clients[number].sendall(data)
            except OSError:
                close(number)

def accept(listener):
    number = 0
    while True:
        client, _ = listener.accept()
        number += 1
        clients[number] = client
        threading.Thread(target=from_client, args=(number, client), daemon=True).start()

def pip_packages():
    found = {}
    for each in importlib.metadata.distributions(path=[site.getusersitepackages()]):
        if each.metadata['Name']:
            found[each.metadata['Name'].lower().replace('_', '-')] = each.version
    return found

def npm_packages():
    found, folder = {}, 'node_modules'
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        for inner in sorted(os.listdir(os.path.join(folder, name))) if name.startswith('@') else ['']:
            try:
                with open(os.path.join(folder, name, inner, 'package.json')) as file:
                    found['npm:' + name + ('/' + inner if inner else '')] = json.load(file)['version']
            except (OSError, KeyError, ValueError):
                pass
    return found

def packages():
    return {**pip_packages(), **npm_packages()}

listener = socket.create_server(('127.0.0.1', 0))
proxy = 'http://%s@127.0.0.1:%d' % (os.environ.pop('PROXY_LOGIN'), listener.getsockname()[1])
for target in (from_link, lambda: accept(listener)):
    threading.Thread(target=target, daemon=True).start()
before = packages()
environment = dict(os.environ, http_proxy=proxy, https_proxy=proxy, HTTP_PROXY=proxy, HTTPS_PROXY=proxy, no_proxy='', NO_PROXY='',
                   npm_config_noproxy='')
status = subprocess.run(sys.argv[1:], env=environment, stdin=subprocess.DEVNULL).returncode
data = json.dumps({'before': before, 'after': packages()}).encode()
while data:
    data = data[os.write(4, data):]
os._exit(status if status >= 0 else 128 - status)
