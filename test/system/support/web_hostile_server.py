"""A web server that does wrong what its path names: bombs, endless and broken answers, bytes that trickle.

Runs in a process of its own, so that it never delays the pings that are measured beside it."""
import gzip
import multiprocessing
import select
import socket
import ssl
import threading
import zlib

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
PAGE = b"<!doctype html><title>Page</title><p class=a>text</p>"


def whole(body, kind="text/html", more=""):
    return [f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body]


def for_ever(head, piece, pause=0.0):
    """A number among the pieces is a pause, in seconds."""
    yield head
    while True:
        yield piece
        if pause:
            yield pause


def redirect(to):
    return [f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode()]


def bomb():
    """256 MiB of zeros in about 256 KiB."""
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(1 << 20)
    return b"".join(packer.compress(zeros) for _ in range(256)) + packer.flush()


def silence():
    yield 3600


def answers(bombs):
    packed = "Content-Encoding: gzip\r\n"
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    return {
        "/page": lambda: whole(PAGE),
        "/loop": lambda: redirect("/loop"),
        "/to-file": lambda: redirect("file:///etc/passwd"),
        "/charset": lambda: whole("<p>grün</p>".encode(), "text/html; charset=klingon"),
        "/wrong-charset": lambda: whole(b"<p>gr\xfcn \xff\xfe</p>", "text/html; charset=utf-8"),
        "/cut-gzip": lambda: whole(gzip.compress(PAGE * 50)[:60], more=packed),
        "/no-gzip": lambda: whole(PAGE, more=packed),
        "/bomb": lambda: whole(bombs, more=packed),
        "/large": lambda: whole(b"x" * (3 << 20)),
        "/endless-header": lambda: for_ever(HEAD, b"X-Filler: " + b"x" * 1000 + b"\r\n"),
        "/slow-header": lambda: for_ever(HEAD, b"X-Filler: x\r\n", 0.2),
        "/endless-body": lambda: for_ever(chunked, b"1000\r\n" + b"x" * 4096 + b"\r\n"),
        "/byte-a-second": lambda: for_ever(HEAD + b"Content-Length: 100000\r\n\r\n" + PAGE, b"x", 1),
        "/silent": silence,
        "/short": lambda: [HEAD + b"Content-Length: 1000\r\n\r\n" + PAGE],
        "/no-http": lambda: [b"SSH-2.0-OpenSSH_9.2\r\n"],
        "/nothing": lambda: [],
    }


def serve_client(client, scripts, context):
    try:
        with client:
            client.settimeout(60)
            if context:
                client = context.wrap_socket(client, server_side=True)
            asked = client.recv(65536).split(b" ")
            path = asked[1].decode("latin-1").partition("?")[0] if len(asked) > 1 else ""
            for piece in scripts.get(path, lambda: [b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"])():
                if isinstance(piece, bytes):
                    client.sendall(piece)
                else:
                    select.select([client], [], [], piece)      # the other side may go meanwhile
            client.shutdown(socket.SHUT_WR)
            client.recv(1)
    except OSError:     # the other side has had enough, as it should
        pass


def accept(listener, scripts, context):
    while True:
        client = listener.accept()[0]
        threading.Thread(target=serve_client, args=(client, scripts, context), daemon=True).start()


def run(listeners, scripts):
    workers = [threading.Thread(target=accept, args=(listener, scripts, context), daemon=True) for listener, context in listeners]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def tls_of(folder, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    return context


def start(address, folder):
    """Port 80 without TLS; 443, 8443, 9443, 10443 with the certificates good, other, expired, self; 12443 takes connections and says nothing."""
    listeners = [(socket.create_server((address, 80), backlog=64), None)]
    listeners += [(socket.create_server((address, port)), tls_of(folder, name)) for name, port in (("good", 443), ("other", 8443), ("expired", 9443), ("self", 10443))]
    mute = socket.create_server((address, 12443))       # never accepted: the kernel takes the connection
    process = multiprocessing.get_context("fork").Process(target=run, args=(listeners, answers(bomb())), daemon=True)
    process.start()
    return process, mute
