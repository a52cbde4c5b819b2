#include "test/execution/sandbox/run_support.hpp"

#include <signal.h>

namespace cmcp::sandbox::test {

TEST_CASE("a timeout ends the run and keeps what it printed", "[run][measured]")
{
    stage s;
    auto wanted = s.bash("echo early; sleep 60; echo late");
    wanted.limits.wall = std::chrono::milliseconds(2000) * slowness();  // enough for the first word on a busy machine
    const auto result = s.run(std::move(wanted));
    CHECK(result.why == cause::timeout);
    CHECK(result.exit_code == 137);
    CHECK(s.output.out == "early\n");
}

TEST_CASE("a run that stops itself ends at its timeout", "[run][measured]")
{
    stage s;
    auto wanted = s.bash("echo before; kill -STOP $$; echo after");
    wanted.limits.wall = std::chrono::milliseconds(2000) * slowness();  // enough for the first word on a busy machine
    const auto result = s.run(std::move(wanted));
    CHECK(result.why == cause::timeout);
    CHECK(s.output.out == "before\n");
}

TEST_CASE("a program that takes too much processor time is ended", "[run][measured]")
{
    stage s;
    auto wanted = s.bash("while :; do :; done");
    wanted.limits.cpu = std::chrono::seconds(1);
    wanted.limits.wall = std::chrono::seconds(200) * slowness();  // a busy machine gives little of its processors
    const auto result = s.run(std::move(wanted));
    CHECK(result.why == cause::cpu_limit);
    CHECK(result.cpu >= std::chrono::milliseconds(500));
}

TEST_CASE("a program that ignores the processor time signal is ended too", "[run][measured]")
{
    stage s;
    auto wanted = s.python("import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass");
    wanted.limits.cpu = std::chrono::seconds(1);
    wanted.limits.wall = std::chrono::seconds(200) * slowness();  // a busy machine gives little of its processors
    CHECK(s.run(std::move(wanted)).why == cause::cpu_limit);
}

TEST_CASE("one Python process that asks for too much memory gets a MemoryError", "[run][measured]")
{
    stage s;
    auto wanted = s.python("try:\n  x = bytearray(400 << 20)\nexcept MemoryError:\n  print('refused')");
    wanted.limits.memory = 128 << 20;
    const auto result = s.run(std::move(wanted));
    CHECK(s.output.out == "refused\n");
    CHECK(result.why == cause::exited);
}

TEST_CASE("processes that together use too much memory are ended", "[run][measured]")
{
    stage s;
    auto wanted =
        s.bash("for i in 1 2 3 4; do python3 -c 'import time; x = b\"x\" * (60 << 20); time.sleep(30)' & done; wait");
    wanted.limits.memory = 128 << 20;
    const auto result = s.run(std::move(wanted));
    CHECK(result.why == cause::memory_limit);
    CHECK(result.peak_memory > 100 << 20);
}

TEST_CASE("memory that processes share counts once", "[run][measured]")
{
    stage s;
    auto wanted = s.python(
        "import os, time\nx = b'x' * (60 << 20)\npids = []\nfor i in range(4):\n  pid = os.fork()\n  if not pid:\n"
        "    time.sleep(0.3); os._exit(0)\n  pids.append(pid)\nfor p in pids: os.waitpid(p, 0)\nprint('done')");
    wanted.limits.memory = 128 << 20;
    const auto result = s.run(std::move(wanted));
    CHECK(result.why == cause::exited);
    CHECK(s.output.out == "done\n");
}

TEST_CASE("processes whose first thread has ended count like others", "[run][measured]")
{
    stage s;
    auto wanted = s.python(
        "import ctypes, os, threading, time\n"
        "def ended():\n  try: return '(zombie)' in open('/proc/self/status').read()\n"
        "  except PermissionError: return True  # AppArmor: nobody owns the files of a process without memory\n"
        "def hold():\n  while not ended(): time.sleep(0.01)\n"
        "  kept = bytearray(b'x') * (60 << 20)\n  time.sleep(30)\n"
        "for i in range(4):\n  if not os.fork():\n    threading.Thread(target=hold).start()\n"
        "    ctypes.CDLL(None).pthread_exit(None)\ntime.sleep(30)");
    wanted.limits.memory = 128 << 20;
    const auto result = s.run(std::move(wanted));
    CHECK(result.why == cause::memory_limit);
    CHECK(result.peak_memory > 100 << 20);
}

TEST_CASE("memory that is lent to a child until it executes a program counts once", "[run][measured]")
{
    stage s;
    auto wanted = s.python(
        "import subprocess, threading\nx = b'x' * (75 << 20)\n"
        "def start():\n  for i in range(300): subprocess.run(['/bin/true'])\n"
        "start()\nt = threading.Thread(target=start)\nt.start()\nt.join()\nprint('done')");
    wanted.limits.wall = std::chrono::seconds(60) * slowness();
    wanted.limits.memory = 128 << 20;
    const auto result = s.run(std::move(wanted));
    CHECK(result.why == cause::exited);
    CHECK(s.output.out == "done\n");
}

TEST_CASE("the peak is true within a tenth, and counts pages once that processes share", "[run][measured]")
{
    stage s;
    auto wanted = s.python(
        "import os, time\nx = b'x' * (60 << 20)\nfor i in range(3):\n"
        "  if not os.fork(): y = b'y' * (40 << 20); time.sleep(1); os._exit(0)\nfor i in range(3): os.wait()");
    wanted.limits.memory = 512 << 20;
    const auto result = s.run(std::move(wanted));
    constexpr std::uint64_t held = 180 << 20;
    CHECK(result.peak_memory > held - held / 10);
    CHECK(result.peak_memory < held + held / 10);
}

TEST_CASE("anonymous shared memory counts as memory of the run", "[run][measured]")
{
    stage s;
    auto wanted = s.python(
        "import mmap, time\nm = mmap.mmap(-1, 300 << 20)\nfor i in range(0, 300 << 20, 4096): m[i] = 1\n"
        "time.sleep(20)");
    wanted.limits.memory = 128 << 20;
    CHECK(s.run(std::move(wanted)).why == cause::memory_limit);
}

TEST_CASE("what waits in sockets counts as memory of the run", "[run][measured]")
{
    stage s;
    auto wanted = s.python(
        "import socket, time\nkept = []\nfor i in range(100):\n  a, b = socket.socketpair(); kept += [a, b]\n"
        "  a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20); a.setblocking(False)\n"
        "  try:\n    while True: a.send(b'x' * 65536)\n  except BlockingIOError: pass\n  "
        "time.sleep(0.005)\ntime.sleep(20)");
    wanted.limits.memory = 16 << 20;
    CHECK(s.run(std::move(wanted)).why == cause::memory_limit);
}

TEST_CASE("memory that nothing could count is refused: System V, and files without a name", "[run][measured]")
{
    stage s;
    if (is_on(s, "memory")) return;
    s.run(
        s.python("import ctypes, errno\nlibc = ctypes.CDLL(None, use_errno=True)\n"
                 "print(libc.shmget(0, 4096, 0o1600), libc.msgget(0, 0o1600), libc.memfd_create(b'x', 0))"));
    CHECK(s.output.out == "-1 -1 -1\n");
}

TEST_CASE("a cgroup counts memory that no process maps: System V, and files without a name", "[run][measured]")
{
    const std::string code = GENERATE(
        "import os, time\nfor i in range(10): os.write(os.memfd_create('x'), bytes(30 << 20))\ntime.sleep(20)",
        "import ctypes, time\nlibc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\nfor i in range(10):\n"
        "  p = ctypes.c_void_p(libc.shmat(libc.shmget(0, 30 << 20, 0o1600), None, 0))\n"
        "  ctypes.memset(p, 1, 30 << 20)\n  libc.shmdt(p)\ntime.sleep(20)");
    stage s;
    if (!is_on(s, "memory")) return;
    auto wanted = s.python(code);
    wanted.limits.memory = 128 << 20;
    CHECK(s.run(std::move(wanted)).why == cause::memory_limit);
}

TEST_CASE("a file larger than the memory limit can be written and read", "[run][measured]")
{
    stage s;
    auto wanted = s.bash("head -c 200M /dev/zero > big; cat big big | wc -c");
    wanted.limits.memory = 64 << 20;
    wanted.limits.wall = std::chrono::seconds(100) * slowness();
    const auto result = s.run(std::move(wanted));
    CHECK(result.why == cause::exited);
    CHECK(s.output.out == std::to_string(400 << 20) + "\n");
}

TEST_CASE("a fork bomb is bounded and gone after its timeout", "[run][measured]")
{
    stage s;
    auto wanted = s.bash("bomb() { bomb | bomb & }; bomb; sleep 20");
    wanted.limits.wall = std::chrono::milliseconds(700) * slowness();
    wanted.limits.processes = 20;
    const auto result = s.run(std::move(wanted));
    CHECK((result.why == cause::timeout || result.why == cause::process_limit || result.why == cause::exited));
    CHECK(s.output.err.find("Resource temporarily unavailable") != std::string::npos);
}

TEST_CASE("no more processes than allowed can exist", "[run][measured]")
{
    stage s;
    auto wanted = s.python(
        "import os, time\nmade = 0\ntry:\n  while made < 100:\n    if not os.fork(): time.sleep(20); os._exit(0)\n"
        "    made += 1\nexcept OSError as e: print(e.errno)\nprint(made)");
    wanted.limits.processes = 10;
    const auto result = s.run(std::move(wanted));
    CHECK(s.output.out == "11\n9\n");
    CHECK(result.why == cause::exited);
}

TEST_CASE("a file that grows too large ends the program", "[run][measured]")
{
    stage s;
    auto wanted = s.request({"/usr/bin/dd", "if=/dev/zero", "of=big", "bs=1M", "count=8"});
    wanted.limits.file_size = 1 << 20;
    const auto result = s.run(std::move(wanted));
    CHECK(result.why == cause::file_size_limit);
    CHECK(std::filesystem::file_size(s.workspace.path + "/big") == 1 << 20);
}

TEST_CASE("the temporary folders are bounded", "[run][measured]")
{
    if (not_held("Firejail sets no size for /tmp: what is there counts as memory")) return;
    stage s;
    auto wanted =
        s.bash("head -c 4M /dev/zero > /tmp/a; head -c 4M /dev/zero > /dev/shm/b; stat -c %s /tmp/a /dev/shm/b");
    wanted.limits.tmp_size = 1 << 20;
    s.run(std::move(wanted));
    CHECK(s.output.out == "1048576\n1048576\n");
}

TEST_CASE("a program that prints without end is ended after its share", "[run][measured]")
{
    stage s;
    auto wanted = s.request({"/usr/bin/yes"});
    wanted.limits.output = 1 << 20;
    const auto result = s.run(std::move(wanted));
    CHECK(result.why == cause::output_limit);
    CHECK(s.output.out.size() == 1 << 20);
}

TEST_CASE("open files are bounded", "[run][measured]")
{
    stage s;
    auto wanted = s.python(
        "f = []\ntry:\n  while True: f.append(open('/dev/null'))\nexcept OSError as e: print(e.errno, len(f) < 64)");
    wanted.limits.open_files = 64;
    s.run(std::move(wanted));
    CHECK(s.output.out == "24 True\n");
}

}  // namespace cmcp::sandbox::test
