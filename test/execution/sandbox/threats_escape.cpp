#include "test/execution/sandbox/run_support.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <fstream>

using namespace cmcp;
using namespace cmcp::sandbox;
using cmcp::sandbox::test::stage;
using cmcp::sandbox::test::under_firejail;

namespace {

/// Runs Python code that prints "held" when the attack failed and anything else when it did not.
std::string attack(stage& s, const std::string& code)
{
    s.run(s.python("import ctypes, errno, os, socket, fcntl, sys\nlibc = ctypes.CDLL(None, use_errno=True)\n" + code));
    return s.output.out + s.output.err;
}

// Python code for a system call by number that must fail with `error`.
std::string call_fails(const std::string& call, const std::string& error)
{
    return "result = libc.syscall(" + call + ")\nprint('held' if result == -1 and ctypes.get_errno() == errno." +
           error + " else f'result {result}, errno {ctypes.get_errno()}')";
}

}  // namespace

TEST_CASE("a run can make and enter no namespace", "[run][alike]")
{
    stage s;
    CHECK(attack(s, "print('held' if libc.unshare(0x10000000) == -1 and libc.unshare(0x20000) == -1 else 'escaped')") ==
          "held\n");
    CHECK(attack(s,
                 "fd = os.open('/proc/self/ns/net', os.O_RDONLY)\nprint('held' if libc.setns(fd, 0) == -1 else "
                 "'escaped')") == "held\n");
    s.run(s.bash(
        "unshare -Ur id; unshare -n true; nsenter -t 1 -m true; mount -t tmpfs x /tmp; umount /proc; chroot / true"));
    CHECK(s.output.out == "");
}

TEST_CASE("a run sees none of the kernel's settings and none of the launcher's secrets in /proc", "[run][alike]")
{
    stage s;
    s.run(
        s.bash("for p in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /proc/kcore /proc/keys /proc/kallsyms "
               "/proc/1/environ "
               "/proc/1/root/etc/passwd /proc/1/cwd/. /proc/1/mem /proc/timer_list /proc/self/../../../../root/.; "
               "do test -r $p && echo $p; done; test -w /proc/self/oom_score_adj; ls /proc | grep -c '^[0-9]'"));
    CHECK(s.output.out.find("/proc/") == std::string::npos);
}

TEST_CASE("a run gains nothing from set-uid programs and can make none", "[run][alike]")
{
    stage s;
    s.run(s.bash(
        "cp /usr/bin/id mine; chmod u+s mine && echo made; chmod 2755 mine && echo made; su -c id root </dev/null; "
        "grep -h '^NoNewPrivs' /proc/self/status"));
    CHECK(s.output.out == "NoNewPrivs:\t1\n");
    CHECK(attack(s,
                 "try:\n os.open('x', os.O_CREAT | os.O_WRONLY, 0o4755); print('made')\nexcept PermissionError: "
                 "print('held')") == "held\n");
}

TEST_CASE("a run can make no device node and write to no device but the harmless ones", "[run][alike]")
{
    stage s;
    s.run(s.bash(
        "mknod d c 1 1 && echo made; mknod d b 8 0 && echo made; mknod p p && echo fifo; ls /dev | tr '\\n' ' '; "
        "(exec 3<> /dev/ptmx) && echo made"));
    CHECK(s.output.out.find("made") == std::string::npos);
    CHECK(s.output.out.find("fifo") != std::string::npos);
    for (const char* device : {"mem", "kmsg", "sda", "vda", "kvm", "loop", "fuse", "net"}) {
        INFO(device << " in " << s.output.out);
        CHECK(s.output.out.find(device) == std::string::npos);
    }
}

TEST_CASE("a run has no keyrings, no io_uring, no bpf, no perf and traces nobody", "[run][alike]")
{
    stage s;
    CHECK(attack(s, call_fails("250, 0, -3, 1", "EPERM")) == "held\n");                    // keyctl
    CHECK(attack(s, call_fails("248, b'user', b'a', b'b', 1, -3", "EPERM")) == "held\n");  // add_key
    CHECK(attack(s, call_fails("425, 8, 0", "EPERM")) == "held\n");                        // io_uring_setup
    CHECK(attack(s, call_fails("321, 0, 0, 0", "EPERM")) == "held\n");                     // bpf
    CHECK(attack(s, call_fails("298, 0, 0, -1, -1, 0", "EPERM")) == "held\n");             // perf_event_open
    CHECK(attack(s, call_fails("101, 16, 1, 0, 0", "EPERM")) == "held\n");                 // ptrace
}

TEST_CASE("a run can type nothing into a terminal", "[run][alike]")
{
    stage s;
    CHECK(attack(s,
                 "for request in (0x5412, 0x541c, 0x541d, 0xffffffff00005412):\n"
                 " if libc.ioctl(0, ctypes.c_ulong(request), b'x') != -1 or ctypes.get_errno() != errno.EPERM: "
                 "print('escaped')\n"
                 "print('held')") == "held\n");
    CHECK(attack(s, "try:\n os.open('/dev/tty', os.O_RDWR); print('has a terminal')\nexcept OSError: print('held')") ==
          "held\n");
}

TEST_CASE("a run reaches no network, no host service and no host socket", "[run][alike]")
{
    stage s;
    CHECK(attack(s,
                 "names = ('AF_NETLINK', 'AF_VSOCK', 'AF_ALG', 'AF_PACKET', 'AF_BLUETOOTH')\n"
                 "for name in names:\n"
                 " try: socket.socket(getattr(socket, name)); print(name)\n"
                 " except OSError: pass\n"
                 "for to in ('192.0.2.1', '169.254.169.254', '10.0.0.1', '2001:db8::1'):\n"
                 " try: socket.create_connection((to, 80), 5); print(to)\n"
                 " except OSError as e: print(e) if e.errno == errno.ETIMEDOUT else None\n"
                 "print('held')") == "held\n");
}

TEST_CASE("a run may use loopback sockets and socket pairs of its own", "[run][alike]")
{
    stage s;
    CHECK(attack(s,
                 "a = socket.create_server(('127.0.0.1', 0)); b = socket.create_connection(a.getsockname())\n"
                 "c, d = socket.socketpair(); c.send(b'x'); print('held' if d.recv(1) == b'x' else 'lost')") ==
          "held\n");
}

TEST_CASE("a run writes nowhere but into its workspace and its memory folders", "[run][alike]")
{
    stage s;
    s.run(
        s.bash("for p in / /usr /usr/bin /etc /dev /proc /home /var /root /opt; do "
               "(echo x > $p/probe) 2>/dev/null && echo $p; done; echo x >> /etc/passwd && echo passwd; "
               "for p in . /tmp /dev/shm; do echo x > $p/mine || echo not $p; done; true"));
    CHECK(s.output.out == "");
}

TEST_CASE("a run that links out of its workspace reads its own view, not the host's", "[run][alike]")
{
    stage s;
    std::ofstream("/tmp/cmcp-secret-of-the-host") << "secret";
    s.run(
        s.bash("ln -s /tmp/cmcp-secret-of-the-host a; cat a; cat ../../../tmp/cmcp-secret-of-the-host; "
               "cat /proc/self/root/tmp/cmcp-secret-of-the-host; cat /proc/*/root/tmp/cmcp-secret-of-the-host"));
    std::filesystem::remove("/tmp/cmcp-secret-of-the-host");
    CHECK(s.output.out == "");
}

TEST_CASE("a run can signal none but its own processes", "[run][alike]")
{
    stage s;
    const auto result = s.run(s.bash("kill -9 -1; kill -9 1; echo alive"));
    CHECK((s.output.out == "alive\n" || result.signal == 9));
    s.run(s.bash("echo again"));
    CHECK(s.output.out == "again\n");
}
