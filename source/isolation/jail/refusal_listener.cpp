#include "jail/refusal_listener.hpp"

#include "jail/doors.hpp"
#include "jail/seccomp_filter.hpp"

#include <arpa/inet.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cmcp::sandbox {
namespace {

constexpr std::uint16_t name_service = 53;
constexpr int each_look = 500;
constexpr std::size_t most_denied = 16;

struct sizes {
    std::size_t call = sizeof(seccomp_notif);
    std::size_t reply = sizeof(seccomp_notif_resp);
};

sizes of_this_kernel()
{
    seccomp_notif_sizes sizes{};
    if (::syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0) return {};
    return {std::max<std::size_t>(sizes.seccomp_notif, sizeof(seccomp_notif)),
            std::max<std::size_t>(sizes.seccomp_notif_resp, sizeof(seccomp_notif_resp))};
}

// Another thread may change the address meanwhile: this is for the report, never for a decision.
bool read_address(const seccomp_notif& call, sockaddr_storage& into)
{
    const std::size_t length = std::min<std::size_t>(call.data.args[2], sizeof into);
    iovec here{&into, length};
    iovec there{reinterpret_cast<void*>(call.data.args[1]), length};
    return ::process_vm_readv(static_cast<pid_t>(call.pid), &here, 1, &there, 1, 0) == static_cast<ssize_t>(length);
}

enum class way : std::uint8_t { none, loopback, door };

using ports = std::vector<std::uint16_t>;

// A resolver that sorts addresses (RFC 6724) connects a socket for datagrams to each and sends nothing: that of the C
// library to no port, that of Go to the one of the discard service.
bool looks_for_route(std::uint16_t port) { return port == 0 || port == 9; }

std::string destination(const std::string& address, std::uint16_t port, way by, const ports& doors)
{
    const bool has_doors = !doors.empty();
    const bool has_door = looks_for_route(port) || std::ranges::find(doors, port) != doors.end();
    if (by == way::door && !has_door)
        return "connect to port " + std::to_string(port) +
               " of a host: the sandbox's network has no such port; it has 80, 443 and those that "
               "SANDBOX_NETWORK_ALLOWED names";
    if (has_doors && by != way::none) return {};
    if (!has_doors && port == name_service) return "name look-up (DNS): the sandbox has no network";
    if (by == way::loopback) return {};
    return "connect to " + address + ":" + std::to_string(port) +
           (has_doors ? ": addresses have no way out of the sandbox, only names of its network have"
                      : ": the sandbox has no network");
}

std::string describe(const sockaddr_in& to, const ports& doors)
{
    char text[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &to.sin_addr, text, sizeof text);
    const std::uint32_t address = ntohl(to.sin_addr.s_addr);
    way by = (address >> 24) == 127 || address == 0 ? way::loopback : way::none;
    if (!doors.empty() && stands_for_name(to.sin_addr)) by = way::door;
    return destination(text, ntohs(to.sin_port), by, doors);
}

// An address of IPv4 may be written as one of IPv6 (RFC 4291 section 2.5.5.2).
std::string describe(const sockaddr_in6& to, const ports& doors)
{
    if (IN6_IS_ADDR_V4MAPPED(&to.sin6_addr)) {
        sockaddr_in plain{};
        plain.sin_port = to.sin6_port;
        std::memcpy(&plain.sin_addr, to.sin6_addr.s6_addr + 12, sizeof plain.sin_addr);
        return describe(plain, doors);
    }
    char text[INET6_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET6, &to.sin6_addr, text, sizeof text);
    way by = IN6_IS_ADDR_LOOPBACK(&to.sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&to.sin6_addr) ? way::loopback : way::none;
    if (!doors.empty() && stands_for_name(to.sin6_addr)) by = way::door;
    return destination("[" + std::string(text) + "]", ntohs(to.sin6_port), by, doors);
}

std::string destination_of(const seccomp_notif& call, const ports& doors)
{
    sockaddr_storage to{};
    if (!read_address(call, to)) return {};
    if (to.ss_family == AF_INET) return describe(reinterpret_cast<const sockaddr_in&>(to), doors);
    if (to.ss_family == AF_INET6) return describe(reinterpret_cast<const sockaddr_in6&>(to), doors);
    return {};
}

struct refusal {
    int error;
    std::string what;
};

// The errors are those of a kernel that lacks the family or the protocol: programs then try another way.
refusal refused_socket(const seccomp_notif& call, bool makes_sockets)
{
    const auto family = static_cast<int>(call.data.args[0]);
    const std::string end = " in the sandbox";
    switch (family) {
        case AF_INET:
        case AF_INET6:
            return {EPERM, "socket: raw sockets and protocols other than TCP and UDP are refused" + end};
        case AF_UNIX:
            return {EAFNOSUPPORT,
                    "socket: UNIX sockets of this kind are refused" + end +
                        (makes_sockets ? ": streams work, datagrams do not" : ": use TCP on 127.0.0.1, or socketpair")};
        case AF_NETLINK:
            return {EPROTONOSUPPORT, "socket: AF_NETLINK is refused" + end +
                                         (makes_sockets ? ", but for reading the interfaces (NETLINK_ROUTE)" : "")};
        default:
            return {EAFNOSUPPORT, "socket: address family " + std::to_string(family) + " is refused" + end};
    }
}

refusal refused_call(const seccomp_notif& call, bool makes_sockets)
{
    const bool native = is_native(call.data.arch, call.data.nr);
    if (native && call.data.nr == SYS_socket) return refused_socket(call, makes_sockets);
    return {EPERM, syscall_name(call.data.nr, call.data.arch)};
}

}  // namespace

refusal_listener::refusal_listener(unique_fd listener, std::vector<std::uint16_t> doors, bool makes_sockets)
    : listener_(std::move(listener)), doors_(std::move(doors)), makes_sockets_(makes_sockets), budget_(each_look)
{
    const sizes needed = of_this_kernel();
    call_.resize(needed.call);
    reply_.resize(needed.reply);
}

void refusal_listener::tick()
{
    if (listener_) budget_ = each_look;
}

void refusal_listener::note(std::string what)
{
    const bool known = what.empty() || std::ranges::find(denied_, what) != denied_.end();
    if (!known && denied_.size() < most_denied) denied_.push_back(std::move(what));
}

// The kernel hangs up once the last process of the filter has gone (Linux 5.9).
bool refusal_listener::look_for_calls()
{
    pollfd wait{listener_.get(), POLLIN, 0};
    const bool heard = ::poll(&wait, 1, 0) == 1;
    over_ = heard && (wait.revents & POLLIN) == 0;
    return heard && !over_;
}

bool refusal_listener::has_callers()
{
    if (!listener_) return false;
    look_for_calls();
    return !over_;
}

// Whether it is a call that the kernel may not carry out itself: it is handed over, or answered.
bool refusal_listener::hand_over(const seccomp_notif& call)
{
    std::optional<decoded_call> decoded = decode_local_call(call, listener_);
    if (!decoded) return false;
    note(decoded->error == EACCES ? "UNIX sockets: this machine lets the sandbox look at no socket of its programs"
                                  : "");
    if (!decoded->call) answer_call(listener_.get(), call.id, decoded->error);
    call_to_carry_out_ = std::move(decoded->call);
    return true;
}

bool refusal_listener::answer(bool may_end_run)
{
    if (!look_for_calls()) return false;
    std::ranges::fill(call_, std::byte{});  // the kernel wants zeros
    if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, call_.data()) != 0) return false;
    --budget_;
    const auto& call = *reinterpret_cast<const seccomp_notif*>(call_.data());
    std::ranges::fill(reply_, std::byte{});
    auto& reply = *reinterpret_cast<seccomp_notif_resp*>(reply_.data());
    reply.id = call.id;
    const bool native = is_native(call.data.arch, call.data.nr);
    const bool is_last = !native && may_end_run;
    if (native && makes_sockets_ && hand_over(call)) return false;
    if (native && (call.data.nr == SYS_connect || call.data.nr == SYS_bind)) {
        note(call.data.nr == SYS_connect ? destination_of(call, doors_) : std::string());
        reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else {
        refusal refused = refused_call(call, makes_sockets_);
        note(std::move(refused.what));
        reply.error = -refused.error;
    }
    if (!is_last) ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &reply);  // fails only when the caller has gone
    return is_last;
}

}  // namespace cmcp::sandbox
