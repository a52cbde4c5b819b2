#include "test/execution/sandbox/run_support.hpp"

#include "posix/unique_fd.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

// Sockets that the first process of a cell makes for its programs.
namespace cmcp::sandbox::test {
namespace {

bool refuses(const run_result& result, std::string_view text)
{
    return std::ranges::any_of(result.denied,
                               [&](const std::string& each) { return each.find(text) != std::string::npos; });
}

run_request patient(run_request request)
{
    request.limits.wall = std::chrono::seconds(60) * slowness();
    return request;
}

/// Without a listener of refused calls, as in some containers, nobody makes sockets for programs.
bool makes_sockets(stage& s)
{
    if (under_firejail()) return false;
    s.run(s.python("import socket\ntry: socket.socket(socket.AF_UNIX); print('made')\nexcept OSError: pass"));
    if (s.output.out == "made\n") return true;
    WARN("no listener is possible here: nothing was tried");
    return false;
}

unique_fd listen_outside(const std::string& path)
{
    unique_fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(at.sun_path, path.c_str(), sizeof at.sun_path - 1);
    REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(::listen(listener.get(), 100) == 0);
    ::chmod(path.c_str(), 0777);
    return listener;
}

bool was_reached(const unique_fd& listener)
{
    const unique_fd caller(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    return caller || (errno != EAGAIN && errno != EWOULDBLOCK);
}

}  // namespace

TEST_CASE("programs talk over UNIX sockets in the cell's own memory and by abstract names", "[run][alike]")
{
    stage s;
    if (!makes_sockets(s)) return;
    const auto result = s.run(
        patient(s.python("import os, socket\n"
                         "os.chdir('/tmp'); os.umask(0o077)\n"
                         "for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):\n"
                         "  for name in ('/tmp/a.sock', 'relative.sock', '/dev/shm/b.sock', '\\0abstract'):\n"
                         "    server = socket.socket(socket.AF_UNIX, kind); server.bind(name); server.listen(3)\n"
                         "    client = socket.socket(socket.AF_UNIX, kind); client.connect(name)\n"
                         "    there, _ = server.accept(); client.send(b'hello'); assert there.recv(9) == b'hello'\n"
                         "    there.send(b'well'); assert client.recv(9) == b'well'\n"
                         "    said = server.getsockname(); said = said.decode() if isinstance(said, bytes) else said\n"
                         "    assert said == name and client.getpeername() == server.getsockname(), said\n"
                         "    assert not os.get_inheritable(client.fileno()) and client.getblocking()\n"
                         "    if name[0] != '\\0': assert os.stat(name).st_mode & 0o777 == 0o700 and "
                         "os.stat(name).st_uid == os.getuid()\n"
                         "    try: socket.socket(socket.AF_UNIX, kind).bind(name); print('bound twice')\n"
                         "    except OSError as e: assert e.errno == 98, e\n"
                         "    server.close()\n"
                         "    try: socket.socket(socket.AF_UNIX, kind).connect(name); print('nobody listens')\n"
                         "    except ConnectionRefusedError: pass\n"
                         "    if name[0] != '\\0': os.unlink(name)\n"
                         "try: socket.socket(socket.AF_UNIX).connect('/tmp/none.sock')\n"
                         "except FileNotFoundError: print('talked')")));
    INFO(s.output.err);
    CHECK(s.output.out == "talked\n");
    CHECK(result.denied.empty());
}

TEST_CASE("servers of Python's library work over UNIX sockets", "[run][alike]")
{
    stage s;
    if (!makes_sockets(s)) return;
    const auto result = s.run(patient(
        s.python("import asyncio, multiprocessing, os\n"
                 "open('/tmp/part.py', 'w').write('def twice(n): return 2 * n')\n"
                 "import sys; sys.path.insert(0, '/tmp'); os.environ['PYTHONPATH'] = '/tmp'\n"
                 "import part\n"
                 "async def main():\n"
                 "  async def serve(r, w): w.write(await r.readline()); await w.drain(); w.close()\n"
                 "  server = await asyncio.start_unix_server(serve, '/tmp/echo.sock')\n"
                 "  r, w = await asyncio.open_unix_connection('/tmp/echo.sock')\n"
                 "  w.write(b'echo\\n'); print((await r.readline()).decode().strip()); w.close(); server.close()\n"
                 "asyncio.run(main())\n"
                 "with multiprocessing.Manager() as m: d = m.dict(); d['x'] = 1; print(dict(d))\n"
                 "with multiprocessing.get_context('forkserver').Pool(1) as p: print(p.map(part.twice, [21]))")));
    INFO(s.output.err);
    CHECK(s.output.out == "echo\n{'x': 1}\n[42]\n");
    CHECK(result.exit_code == 0);
}

TEST_CASE("a listener without room lets connections wait, or says so to those that do not", "[run][alike]")
{
    stage s;
    if (!makes_sockets(s)) return;
    s.run(
        patient(s.python("import socket, threading\n"
                         "server = socket.socket(socket.AF_UNIX); server.bind('/tmp/full.sock'); server.listen(0)\n"
                         "queued = []\n"
                         "try:\n"
                         "  while True:\n"
                         "    c = socket.socket(socket.AF_UNIX); c.setblocking(False); c.connect('/tmp/full.sock')\n"
                         "    queued.append(c)\n"
                         "except BlockingIOError: print('full')\n"
                         "waits = socket.socket(socket.AF_UNIX)\n"
                         "t = threading.Thread(target=lambda: waits.connect('/tmp/full.sock')); t.start()\n"
                         "for _ in queued: server.accept()\n"
                         "server.accept()[0].send(b'x'); t.join(); print(waits.recv(1))")));
    INFO(s.output.err);
    CHECK(s.output.out == "full\nb'x'\n");
}

TEST_CASE("a program outside that listens in the workspace is not reached, and the refusal is told", "[run][alike]")
{
    stage s;
    if (!makes_sockets(s)) return;
    const unique_fd outside = listen_outside(s.workspace.path + "/host.sock");
    const auto result = s.run(
        patient(s.python("import os, socket\n"
                         "os.symlink(os.getcwd() + '/host.sock', '/tmp/link'); os.symlink(os.getcwd(), '/tmp/folder')\n"
                         "for to in ('host.sock', os.getcwd() + '/host.sock', '/tmp/link', '/tmp/folder/host.sock',\n"
                         "           '/tmp/../' + os.getcwd() + '/./host.sock', '/proc/self/cwd/host.sock'):\n"
                         "  for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):\n"
                         "    try: socket.socket(socket.AF_UNIX, kind).connect(to); print('reached', to)\n"
                         "    except PermissionError: pass\n"
                         "try: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); print('a datagram')\n"
                         "except OSError as e: print(e.errno)\n"
                         "try: socket.socket(socket.AF_UNIX).bind('own.sock'); print('bound')\n"
                         "except PermissionError: print('held')")));
    INFO(s.output.err);
    CHECK(s.output.out == std::to_string(EAFNOSUPPORT) + "\nheld\n");
    CHECK(refuses(result, "connect to the UNIX socket host.sock"));
    CHECK(refuses(result, "bind to the UNIX socket own.sock"));
    CHECK(refuses(result, "UNIX sockets of this kind"));
    CHECK_FALSE(was_reached(outside));
}

TEST_CASE("an address that changes while connect looks at it leads no program outside", "[run][alike]")
{
    stage s;
    if (!makes_sockets(s)) return;
    const unique_fd outside = listen_outside(s.workspace.path + "/host.sock");
    s.run(patient(
        s.python("import ctypes, os, socket, struct, threading\n"
                 "libc = ctypes.CDLL(None, use_errno=True)\n"
                 "own = socket.socket(socket.AF_UNIX); own.bind('/tmp/own.sock'); own.listen(4096)\n"
                 "pad = lambda b: b.ljust(110, b'\\0')\n"
                 "there = pad(struct.pack('H', socket.AF_UNIX) + b'host.sock')\n"
                 "harmless = [pad(struct.pack('H', socket.AF_UNIX) + b'/tmp/own.sock'),\n"
                 "            pad(struct.pack('!HH4s', socket.AF_INET << 8, 9, bytes([127, 0, 0, 1])))]\n"
                 "address = ctypes.create_string_buffer(110)\n"
                 "spare, place = socket.socket(socket.AF_UNIX), 200\n"
                 "inet = socket.socket()\n"
                 "over = False\n"
                 "def change():\n"
                 "  while not over:\n"
                 "    for each in harmless: ctypes.memmove(address, each, 110); ctypes.memmove(address, there, 110)\n"
                 "    os.dup2(inet.fileno(), place); os.dup2(spare.fileno(), place)\n"
                 "os.dup2(spare.fileno(), place)\n"
                 "t = threading.Thread(target=change); t.start()\n"
                 "for length in (16, 110) * 300:\n"
                 "  if libc.connect(place, address, length) == 0:\n"
                 "    with socket.socket(fileno=os.dup(place)) as c:\n"
                 "      try: name = c.getpeername()\n"
                 "      except OSError: continue\n"
                 "      if 'host' in str(name): print('reached')\n"
                 "over = True; t.join(); print('held')")));
    INFO(s.output.err);
    CHECK(s.output.out == "held\n");
    CHECK_FALSE(was_reached(outside));
}

TEST_CASE("programs read the interfaces of their network and change nothing", "[run][alike]")
{
    stage s;
    if (!makes_sockets(s)) return;
    s.run(patient(
        s.python("import errno, socket, struct\n"
                 "print(socket.if_nameindex()[0])\n"
                 "for family, name in ((socket.AF_INET, 'localhost'), (0, 'localhost')):\n"
                 "  try: assert socket.getaddrinfo(name, 80, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)\n"
                 "  except OSError as e: print(family, name, e)\n"
                 "def ask(kind, body):\n"
                 "  with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:\n"
                 "    s.send(struct.pack('IHHII', 16 + len(body), kind, 5, 1, 0) + body)\n"
                 "    length, kind, flags, number, port, error = struct.unpack_from('IHHIIi', s.recv(4096))\n"
                 "    return errno.errorcode.get(-error, error)\n"
                 "link = struct.pack('BxHiII', 0, 0, 1, 0, 1)\n"
                 "print(ask(16, link), ask(17, link), ask(20, struct.pack('BBBBI', 2, 8, 0, 254, 1) + "
                 "struct.pack('HH4s', 8, 2, bytes([127, 0, 0, 9]))))\n"
                 "for protocol in (4, 9, 15):\n"
                 "  try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol); print('made', protocol)\n"
                 "  except OSError as e: assert e.errno == errno.EPROTONOSUPPORT, e\n"
                 "all = []\n"
                 "try:\n"
                 "  while len(all) < 500: all.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))\n"
                 "except OSError as e: print(e.errno == errno.ENFILE)\n"
                 "all.clear(); socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); "
                 "print(socket.create_server(('127.0.0.1', 0)) is not None)")));
    INFO(s.output.err);
    CHECK(s.output.out == "(1, 'lo')\nEPERM EPERM EPERM\nTrue\nTrue\n");
}

TEST_CASE("refused kinds of sockets are told with what there is instead", "[run][alike]")
{
    stage s;
    if (!makes_sockets(s)) return;
    const auto result =
        s.run(s.python("import socket\n"
                       "for each in ((socket.AF_PACKET, socket.SOCK_RAW, 0), (40, socket.SOCK_STREAM, 0),\n"
                       "             (socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_NETLINK, 3, 16)):\n"
                       "  try: socket.socket(*each); print('made', each)\n"
                       "  except OSError: pass"));
    CHECK(s.output.out == "");
    for (const char* text : {"address family 17", "address family 40", "raw sockets", "AF_NETLINK"})
        CHECK(refuses(result, text));
}

}  // namespace cmcp::sandbox::test
