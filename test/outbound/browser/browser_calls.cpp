#include "sandbox/output_head.hpp"
#include "test/outbound/browser/browser_support.hpp"
#include "wire/packet_socket.hpp"

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

// The standard error of a program that the launcher starts in place of Chromium.
std::string errors_in_jail(const std::string& calls)
{
    asio::io_context io;
    sandbox::native_backend backend(io.get_executor(), launcher_with({"/usr/bin/python3", 1ull << 30, false}));
    auto [ours, theirs] = sandbox::socket_pair(SOCK_STREAM);
    sandbox::run_request request;
    request.argv = {"browser", "-c", caller_script, calls};
    request.browser.ports = 1;
    request.channel = std::make_shared<unique_fd>(std::move(theirs));
    sandbox::output_head said;
    const auto ended = run_coroutine(io, backend.run(std::move(request), said), patience);
    return ended.error + said.err;
}

std::string call(long number, std::initializer_list<long> arguments = {})
{
    std::string text = std::to_string(number);
    for (const long each : arguments) text += "," + std::to_string(each);
    return text + " ";
}

std::string with_errors(std::initializer_list<int> errors)
{
    std::string text;
    for (const int each : errors) text += (text.empty() ? "" : " ") + std::to_string(each);
    return text + "\n";
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
