#include "jail/local_call.hpp"

#include "facilities/process_files.hpp"

#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace cmcp::sandbox {
namespace {

constexpr int type_bits = 0xf;
constexpr std::size_t family_bytes = offsetof(sockaddr_un, sun_path);

std::string file_of(std::uint32_t task, const std::string& name)
{
    return "/proc/" + std::to_string(task) + "/" + name;
}

// The number after the name of a line, in the base of modes.
unsigned long octal_in(std::string_view text, std::string_view name)
{
    const auto at = text.find(name);
    return at == std::string_view::npos ? 0 : std::strtoul(text.data() + at + name.size(), nullptr, 8);
}

// Threads may have descriptors of their own, so their numbers mean something in the caller alone.
unique_fd socket_of(const seccomp_notif& notice, const std::string& status)
{
    constexpr unsigned of_thread = O_EXCL;  // PIDFD_THREAD of Linux 6.9
    unique_fd caller(static_cast<int>(::syscall(SYS_pidfd_open, notice.pid, of_thread)));
    if (!caller) caller.reset(static_cast<int>(::syscall(SYS_pidfd_open, number_in_line(status, "\nTgid:"), 0)));
    if (!caller) return {};
    return unique_fd(static_cast<int>(::syscall(SYS_pidfd_getfd, caller.get(), notice.data.args[0], 0)));
}

int option(const unique_fd& socket, int name)
{
    int value = -1;
    socklen_t length = sizeof value;
    return ::getsockopt(socket.get(), SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

bool has_name(const unique_fd& socket, int (*name_of)(int, sockaddr*, socklen_t*))
{
    sockaddr_storage name{};
    socklen_t length = sizeof name;
    return name_of(socket.get(), reinterpret_cast<sockaddr*>(&name), &length) != 0 || length > family_bytes;
}

// As make_local_socket() gave it. Others are bound or connected already, and the kernel finds fault with the call.
bool is_unused(const unique_fd& socket)
{
    return option(socket, SO_DOMAIN) == AF_UNIX && option(socket, SO_TYPE) != SOCK_DGRAM &&
           option(socket, SO_ACCEPTCONN) == 0 && !has_name(socket, ::getsockname) && !has_name(socket, ::getpeername);
}

std::optional<decoded_call> made(const seccomp_notif& notice, local_call call)
{
    const auto& args = notice.data.args;
    call.family = static_cast<int>(args[0]);
    call.type = static_cast<int>(args[1]) & type_bits;
    const auto protocol = static_cast<std::uint32_t>(args[2]);
    const bool is_local = call.family == AF_UNIX && (call.type == SOCK_STREAM || call.type == SOCK_SEQPACKET);
    const bool tells_interfaces =
        call.family == AF_NETLINK && protocol == NETLINK_ROUTE && (call.type == SOCK_RAW || call.type == SOCK_DGRAM);
    if (is_local && protocol != 0 && protocol != PF_UNIX) return decoded_call{{}, EPROTONOSUPPORT};
    if (!is_local && !tells_interfaces) return std::nullopt;
    call.waits = (args[1] & SOCK_NONBLOCK) == 0;
    call.ends_at_exec = (args[1] & SOCK_CLOEXEC) != 0;
    return decoded_call{std::move(call), 0};
}

bool read_local_address(const seccomp_notif& notice, std::string& into)
{
    const std::uint64_t length = notice.data.args[2];
    if (length < family_bytes || length > sizeof(sockaddr_un)) return false;
    sockaddr_un address{};
    iovec here{&address, length};
    iovec there{reinterpret_cast<void*>(notice.data.args[1]), length};
    const ssize_t got = ::process_vm_readv(static_cast<pid_t>(notice.pid), &here, 1, &there, 1, 0);
    if (got != static_cast<ssize_t>(length) || address.sun_family != AF_UNIX) return false;
    into.assign(address.sun_path, length - family_bytes);
    return true;
}

std::optional<decoded_call> named(const seccomp_notif& notice, local_call call)
{
    if (!read_local_address(notice, call.address)) return std::nullopt;
    const std::string status = read_text(AT_FDCWD, file_of(notice.pid, "status"));
    call.number = static_cast<int>(notice.data.args[0]);
    call.socket = socket_of(notice, status);
    if (!call.socket && errno == EBADF) return std::nullopt;
    if (!call.socket) return decoded_call{{}, EACCES};
    if (!is_unused(call.socket)) return std::nullopt;
    call.folder.reset(::open(file_of(notice.pid, "cwd").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!call.folder) return decoded_call{{}, EACCES};
    const std::string descriptor = read_text(AT_FDCWD, file_of(notice.pid, "fdinfo/" + std::to_string(call.number)));
    call.ends_at_exec = (octal_in(descriptor, "\nflags:") & O_CLOEXEC) != 0;
    call.waits = (::fcntl(call.socket.get(), F_GETFL) & O_NONBLOCK) == 0;
    call.mask = static_cast<std::uint32_t>(octal_in(status, "\nUmask:"));
    call.type = option(call.socket, SO_TYPE);
    return decoded_call{std::move(call), 0};
}

}  // namespace

std::optional<decoded_call> decode_local_call(const seccomp_notif& notice, const unique_fd& listener)
{
    const int number = notice.data.nr;
    if (number != SYS_socket && number != SYS_bind && number != SYS_connect) return std::nullopt;
    local_call call;
    call.id = notice.id;
    if (number != SYS_socket) call.what = number == SYS_bind ? local_call::kind::bind : local_call::kind::connect;
    auto decoded = number == SYS_socket ? made(notice, std::move(call)) : named(notice, std::move(call));
    if (!decoded || !decoded->call) return decoded;
    // The caller still waits, so no other process has had its number meanwhile.
    if (!still_waits(listener.get(), notice.id)) return decoded_call{{}, EINTR};
    decoded->call->listener.reset(::fcntl(listener.get(), F_DUPFD_CLOEXEC, 0));
    if (!decoded->call->listener) return decoded_call{{}, ENFILE};
    return decoded;
}

bool still_waits(int listener, std::uint64_t id) { return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0; }

// Fails only when the caller has gone.
void answer_call(int listener, std::uint64_t id, int error)
{
    seccomp_notif_resp answer{};
    answer.id = id;
    answer.error = -error;
    ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

void answer_with(const local_call& call, int socket)
{
    if (call.waits) ::fcntl(socket, F_SETFL, 0);
    seccomp_notif_addfd copy{};
    copy.id = call.id;
    copy.srcfd = static_cast<std::uint32_t>(socket);
    copy.newfd_flags = call.ends_at_exec ? O_CLOEXEC : 0;
    if (call.number >= 0) {
        copy.flags = SECCOMP_ADDFD_FLAG_SETFD;
        copy.newfd = static_cast<std::uint32_t>(call.number);
    }
    const int number = ::ioctl(call.listener.get(), SECCOMP_IOCTL_NOTIF_ADDFD, &copy);
    if (number < 0) return answer_call(call.listener.get(), call.id, errno);
    seccomp_notif_resp answer{};
    answer.id = call.id;
    answer.val = call.number >= 0 ? 0 : number;
    ::ioctl(call.listener.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

}  // namespace cmcp::sandbox
