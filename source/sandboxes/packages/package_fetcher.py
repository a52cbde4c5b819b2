import http.server, json, os, runpy, socket, struct, subprocess, sys, tarfile, threading

link = socket.socket(fileno=os.dup(3))
os.close(3)
writing = threading.Lock()
open_answers = {}

def exactly(count):
    data = b''
    while len(data) < count:
        piece = link.recv(count - len(data))
        if not piece:
            os._exit(1)
        data += piece
    return data

def from_server():
    while True:
        kind, number, size = struct.unpack('>cII', exactly(9))
        data = exactly(size)
        answer = open_answers.get(number) if kind in (b'h', b'd') else open_answers.pop(number, None)
        try:
            if answer:
                answer.take(kind, data)
        except OSError:  # nobody listens any more
            open_answers.pop(number, None)
            answer.end.set()

# A question to the server is an address and nothing else, so nothing but GET can be asked for.
class Door(http.server.BaseHTTPRequestHandler):
    protocol_version, questions = 'HTTP/1.1', 0

    def do_GET(self):
        self.close_connection, self.end = True, threading.Event()
        with writing:
            Door.questions += 1
            number, address = Door.questions, self.path.encode('latin-1')
            open_answers[number] = self
            link.sendall(struct.pack('>cII', b'g', number, len(address)) + address)
        self.end.wait()

    def take(self, kind, data):
        if kind == b'h':
            head = json.loads(data)
            self.in_chunks = head['length'] is None
            self.send_response(head['status'])
            self.send_header('Content-Type', head['type'])
            self.send_header(*(('Transfer-Encoding', 'chunked') if self.in_chunks else ('Content-Length', head['length'])))
            self.send_header('Connection', 'close')
            self.end_headers()
        elif kind == b'd':
            self.wfile.write(b'%x\r\n%b\r\n' % (len(data), data) if self.in_chunks else data)
        elif kind == b'e':
            if self.in_chunks:
                self.wfile.write(b'0\r\n\r\n')
            self.end.set()
        else:  # cut off: what came so far must not look whole
            self.connection.shutdown(socket.SHUT_RDWR)
            self.end.set()

    def log_message(self, *_):
        pass

listener = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Door)
for target in (from_server, listener.serve_forever):
    threading.Thread(target=target, daemon=True).start()
door = 'http://127.0.0.1:%d' % listener.server_port
os.makedirs('tmp')
os.makedirs('packages')
os.environ.update(http_proxy=door, HTTP_PROXY=door, no_proxy='', NO_PROXY='', npm_config_noproxy='', TMPDIR=os.path.abspath('tmp'))

# In this process, because another Python takes as long to begin as pip works.
def run_pip(words):
    sys.argv = words
    try:
        runpy.run_module('pip', run_name='__main__', alter_sys=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1 if end.code else 0
    except ImportError as lacking:
        print(lacking, file=sys.stderr)
        return 1
    return 0

words = sys.argv[1:]
if words[0] == 'pip':
    sys.setswitchinterval(0.0005)  # pip waits for the door's threads
    status = run_pip(words)
else:
    # npm would tell that packages were added, which is not the sandbox's news yet.
    said = subprocess.DEVNULL if os.path.basename(words[0]) == 'npm' else None
    status = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=said).returncode
if status == 0:
    with tarfile.open('packages.tar', 'w') as archive:
        archive.add('packages', '.')
os._exit(status if status >= 0 else 128 - status)
