#include "test/browser/browser_support.hpp"
#include "web/browser_process.hpp"

#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>

using namespace cmcp;
using namespace cmcp::test;

namespace {

// Makes the calls of its first argument, `number,argument,argument …`, and says the error of each.
constexpr const char* caller_script = R"(
import ctypes, sys
call = ctypes.CDLL(None, use_errno=True).syscall
def error(numbers):
    ctypes.set_errno(0)
    call(*(ctypes.c_long(int(number)) for number in numbers.split(",")))
    return ctypes.get_errno()
print(*(error(each) for each in sys.argv[1].split()), file=sys.stderr)
)";

// How a program ends that the host starts in place of Chromium.
std::string ended_in_jail(const std::vector<std::string>& argv)
{
    asio::io_context io;
    const browser_host_protocol::start_message start{.argv = argv, .memory = 1ull << 30, .files = 1 << 20};
    browser_process process(io.get_executor(), std::string(CMCP_BUILD_DIR) + "/container-mcp-browser", start, "{}");
    run_coroutine(io, process.started(), patience);
    io.restart();
    return run_coroutine(io, process.ended(), patience);
}

std::string errors_in_jail(const std::string& calls)
{
    return ended_in_jail({"/usr/bin/python3", "-c", caller_script, calls});
}

std::string call(long number, std::initializer_list<long> arguments = {})
{
    std::string text = std::to_string(number);
    for (const long each : arguments) text += "," + std::to_string(each);
    return text + " ";
}

std::string with_errors(std::initializer_list<int> errors)
{
    std::string text = "exit code 0:";
    for (const int each : errors) text += " " + std::to_string(each);
    return text;
}

}  // namespace

TEST_CASE("where the browser runs, dangerous calls are forbidden and calls outside of its list are missing")
{
    const std::string forbidden = call(SYS_ptrace, {0}) + call(SYS_keyctl, {0}) + call(SYS_bpf, {-1}) +
                                  call(SYS_perf_event_open) + call(SYS_mount) + call(SYS_userfaultfd, {-1}) +
                                  call(425 /* io_uring_setup */, {1});
    CHECK(errors_in_jail(forbidden) == with_errors({EPERM, EPERM, EPERM, EPERM, EPERM, EPERM, EPERM}));
    const std::string missing = call(SYS_vmsplice, {-1}) + call(SYS_shmget, {0, 4096, 0600}) + call(SYS_mq_unlink) +
                                call(SYS_io_setup, {1}) + call(SYS_unshare, {CLONE_NEWNS}) +
                                call(435 /* clone3 */, {0, 0}) + call(100'000);
    CHECK(errors_in_jail(missing) == with_errors({ENOSYS, ENOSYS, ENOSYS, ENOSYS, ENOSYS, ENOSYS, ENOSYS}));
}

TEST_CASE("where the browser runs, sockets are of the families that it needs, and its own sandbox can be made")
{
    const std::string sockets =
        call(SYS_socket, {AF_INET, SOCK_STREAM, 0}) + call(SYS_socket, {AF_UNIX, SOCK_DGRAM, 0}) +
        call(SYS_socket, {AF_NETLINK, SOCK_RAW, 0}) + call(SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}) +
        call(SYS_socket, {AF_PACKET, SOCK_RAW, 0}) + call(SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0});
    CHECK(errors_in_jail(sockets) == with_errors({0, 0, 0, EAFNOSUPPORT, EAFNOSUPPORT, EAFNOSUPPORT}));
    CHECK(errors_in_jail(call(SYS_unshare, {CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET})) == with_errors({0}));
}
