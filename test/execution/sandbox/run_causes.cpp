#include "jail/refusal_listener.hpp"
#include "jail/run_cause.hpp"
#include "jail/seccomp_filter.hpp"
#include "test/execution/sandbox/run_support.hpp"
#include "wire/packet_socket.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace cmcp::sandbox::test {
namespace {

bool denies(const run_result& result, const std::string& what)
{
    return std::any_of(result.denied.begin(), result.denied.end(),
                       [&](const std::string& each) { return each.find(what) != std::string::npos; });
}

std::string joined(const run_result& result)
{
    std::string all;
    for (const auto& each : result.denied) all += each + "\n";
    return all;
}

// Some kernels and hypervisors have no calls of i386, so the instruction faults before a filter could judge it.
bool has_calls_of_i386()
{
#if defined(__x86_64__)
    const pid_t child = ::fork();
    if (child == 0) {
        long number = 20;  // getpid
        asm volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status);
#else
    return false;
#endif
}

const std::string library = "import ctypes, errno, os, socket\nlibc = ctypes.CDLL(None, use_errno=True)\n";

}  // namespace

TEST_CASE(
    "a listener of refusals is not watched any more once nobody is left who could be heard, and stays open until then")
{
    int ends[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    const unique_fd ours(ends[0]), theirs(ends[1]);
    const bpf_program filter = compile_announcing_filter();
    const pid_t child = ::fork();
    if (child == 0) {
        const unique_fd listener = install_announcing_filter(filter);
        const int number = listener.get();
        if (listener) send_packet(theirs.get(), "l", {&number, 1});
        ::_exit(listener ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    auto message = receive_packet(ours.get());
    if (status != 0 || !message || message->descriptors.size() != 1) {
        WARN("no listener is possible here: nothing was tried");
        return;
    }
    const int number = message->descriptors[0].get();
    refusal_listener listener(std::move(message->descriptors[0]));
    CHECK(listener.readable() == number);
    CHECK_FALSE(listener.answer());
    CHECK(listener.readable() == -1);
    CHECK(::fcntl(number, F_GETFD) >= 0);
}

TEST_CASE("refused calls are named, fail with EPERM and do not end the run", "[run]")
{
    if (not_held("Firejail's own filter refuses calls before anybody can hear of them")) return;
    stage s;
    const auto result =
        s.run(s.python(library + "print(libc.unshare(0x20000), ctypes.get_errno())\nlibc.mount(0, 0, 0, 0, 0)\n"
                                 "libc.ptrace(0, 0, 0, 0)\nos._exit(3)"));
    INFO(joined(result));
    CHECK(s.output.out == "");  // _exit keeps what is buffered
    CHECK(result.why == cause::exited);
    CHECK(result.exit_code == 3);
    for (const char* name : {"unshare", "mount", "ptrace"}) CHECK(denies(result, name));
    s.run(s.python(library + "print(libc.unshare(0x20000), ctypes.get_errno())"));
    CHECK(s.output.out == "-1 1\n");
}

TEST_CASE("a run that is refused nothing has nothing denied", "[run]")
{
    stage s;
    const auto result =
        s.run(s.python("import asyncio, subprocess, socket\nsubprocess.run(['ls'])\n"
                       "async def main():\n  p = await asyncio.create_subprocess_exec('true'); await p.wait()\n"
                       "asyncio.run(main())"));
    INFO(joined(result) << s.output.err);
    CHECK(result.exit_code == 0);
    CHECK(result.denied.empty());
}

TEST_CASE("a call of a foreign architecture ends the run and is named", "[run]")
{
    if (not_held("Firejail's own filter refuses calls before anybody can hear of them")) return;
    stage s;
    // mov eax, 21 (mount of i386); int 0x80; ret
    const auto result = s.run(s.python(
        "import ctypes, mmap\nm = mmap.mmap(-1, 4096, prot=7)\nm.write(bytes([0xb8, 21, 0, 0, 0, 0xcd, 0x80, 0xc3]))\n"
        "f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\nprint('before', "
        "flush=True)\nf()\n"
        "print('survived')"));
#if defined(__x86_64__)
    INFO(joined(result) << s.output.err);
    CHECK(s.output.out == "before\n");
    if (!has_calls_of_i386()) {
        CHECK(result.why == cause::signalled);
        CHECK(result.signal == SIGSEGV);
        return;
    }
    CHECK(result.why == cause::denied_syscall);
    CHECK(result.signal == SIGSYS);
    CHECK(denies(result, "mount (i386)"));
#endif
}

TEST_CASE("the destination of a connection that cannot be made is named", "[run]")
{
    stage s;
    const auto result = s.run(
        s.python("import socket\nfor to in (('192.0.2.7', 8443), ('2001:db8::5', 80)):\n"
                 "  try: socket.create_connection(to, 2)\n  except OSError as e: print(e.errno)\nraise SystemExit(1)"));
    INFO(joined(result));
    CHECK(s.output.out == "101\n101\n");
    CHECK(denies(result, "192.0.2.7:8443"));
    CHECK(denies(result, "[2001:db8::5]:80"));
    CHECK(denies(result, "the sandbox has no network"));
}

TEST_CASE("a name look-up is told as one, and connections inside are not told at all", "[run]")
{
    stage s;
    const auto looked_up =
        s.run(s.python("import socket\ntry: socket.getaddrinfo('example.com', 80)\n"
                       "except OSError: print('no such name')"));
    INFO(joined(looked_up));
    CHECK(s.output.out == "no such name\n");
    CHECK(denies(looked_up, "name look-up"));
    const auto inside = s.run(
        s.python("import socket\nl = socket.create_server(('127.0.0.1', 0))\n"
                 "for i in range(2000): socket.create_connection(l.getsockname()).close(); l.accept()[0].close()\n"
                 "print('connected')"));
    INFO(s.output.err);
    CHECK(s.output.out == "connected\n");
    CHECK(inside.denied.empty());
}

TEST_CASE("a run that tries refused calls without end disturbs no other", "[run][measured]")
{
    stage s;
    auto wanted = s.python(library + "while True: libc.unshare(0x20000)");
    wanted.limits.wall = std::chrono::milliseconds(800) * slowness();
    const auto result = s.run(std::move(wanted));
    CHECK(result.why == cause::timeout);
    CHECK(result.denied == std::vector<std::string>{"unshare"});
    s.run(s.bash("echo well"));
    CHECK(s.output.out == "well\n");
}

TEST_CASE("a program that dies because no more processes may be started is told so", "[run][measured]")
{
    stage s;
    // The program waits after its first failed fork, because the watchdog counts processes only at intervals.
    auto wanted = s.python(
        "import os, time\ntry:\n  for i in range(100):\n    if not os.fork(): time.sleep(20); os._exit(0)\n"
        "except OSError:\n  time.sleep(2)\n  raise");
    wanted.limits.processes = 8;
    const auto result = s.run(std::move(wanted));
    CHECK(result.why == cause::process_limit);
    CHECK(denies(result, "fork: the limit of 8 processes"));
}

TEST_CASE("every cause comes of its own evidence")
{
    const auto judged = [](const evidence& known) {
        run_result result;
        judge(known, result);
        return result;
    };
    const auto exited = [](int code) { return code << 8; };
    evidence known;
    known.cpu_limit = std::chrono::seconds(10);
    known.status = exited(3);
    CHECK(judged(known).why == cause::exited);
    CHECK(judged(known).exit_code == 3);
    known.out_of_processes = true;
    CHECK(judged(known).why == cause::process_limit);
    known.status = exited(0);
    CHECK(judged(known).why == cause::exited);
    known.status = SIGSEGV;
    CHECK(judged(known).why == cause::signalled);
    known.status = SIGXCPU;
    CHECK(judged(known).why == cause::cpu_limit);
    known.status = SIGXFSZ;
    CHECK(judged(known).why == cause::file_size_limit);
    known.status = SIGSYS;
    CHECK(judged(known).why == cause::denied_syscall);
    known.status = SIGKILL;
    CHECK(judged(known).why == cause::signalled);
    known.cpu = std::chrono::seconds(11);
    CHECK(judged(known).why == cause::cpu_limit);
    known.out_of_memory = true;
    CHECK(judged(known).why == cause::memory_limit);
    for (const cause why :
         {cause::timeout, cause::cancelled, cause::output_limit, cause::memory_limit, cause::file_size_limit}) {
        known.killed_for = why;
        CHECK(judged(known).why == why);
        CHECK(judged(known).signal == SIGKILL);
        CHECK(judged(known).exit_code == 128 + SIGKILL);
    }
    CHECK(run_result().why == cause::setup_failed);
}

TEST_CASE("the processor time of a run that was ended is told", "[run][measured]")
{
    stage s;
    auto wanted = s.bash("while :; do :; done & while :; do :; done");
    wanted.limits.wall = std::chrono::milliseconds(1500) * slowness();
    const auto result = s.run(std::move(wanted));
    CHECK(result.why == cause::timeout);
    CHECK(result.cpu >= std::chrono::milliseconds(50));
}

TEST_CASE("wall time, processor time and memory of a run are told", "[run][measured]")
{
    stage s;
    const auto result =
        s.run(s.python("import time\nx = b'x' * (50 << 20)\nt = time.process_time()\n"
                       "while time.process_time() - t < 0.3: pass\ntime.sleep(0.2)"));
    CHECK(result.wall >= std::chrono::milliseconds(500));
    CHECK(result.cpu >= std::chrono::milliseconds(300));
    CHECK(result.peak_memory >= 50 << 20);
    CHECK(result.peak_memory < 200 << 20);
}

TEST_CASE("processes of a run talk through pairs of sockets", "[run][measured]")
{
    stage s;
    s.run(
        s.python("import socket, multiprocessing, asyncio\na, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))\n"
                 "p, q = multiprocessing.Pipe(); p.send(1); print(q.recv(), asyncio.run(asyncio.sleep(0, 2)))"));
    INFO(s.output.err);
    CHECK(s.output.out == "b'x'\n1 2\n");
}

}  // namespace cmcp::sandbox::test
