#include "jail/refusal_listener.hpp"

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

std::string destination(const char* address, std::uint16_t port, bool loopback, bool six)
{
    const std::string hint = ": the sandbox has no network";
    if (port == name_service) return "name look-up (DNS)" + hint;
    if (loopback) return {};
    return "connect to " + (six ? "[" + std::string(address) + "]" : std::string(address)) + ":" +
           std::to_string(port) + hint;
}

std::string describe(const sockaddr_in& to)
{
    char text[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &to.sin_addr, text, sizeof text);
    const bool loopback = (ntohl(to.sin_addr.s_addr) >> 24) == 127 || to.sin_addr.s_addr == 0;
    return destination(text, ntohs(to.sin_port), loopback, false);
}

std::string describe(const sockaddr_in6& to)
{
    char text[INET6_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET6, &to.sin6_addr, text, sizeof text);
    const bool loopback = IN6_IS_ADDR_LOOPBACK(&to.sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&to.sin6_addr);
    return destination(text, ntohs(to.sin6_port), loopback, true);
}

std::string destination_of(const seccomp_notif& call)
{
    sockaddr_storage to{};
    if (!read_address(call, to)) return {};
    if (to.ss_family == AF_INET) return describe(reinterpret_cast<const sockaddr_in&>(to));
    if (to.ss_family == AF_INET6) return describe(reinterpret_cast<const sockaddr_in6&>(to));
    return {};
}

}  // namespace

refusal_listener::refusal_listener(unique_fd listener) : listener_(std::move(listener)), budget_(each_look)
{
    const sizes needed = of_this_kernel();
    call_.resize(needed.call);
    reply_.resize(needed.reply);
}

void refusal_listener::look()
{
    if (listener_) budget_ = each_look;
}

// Without a name there is nothing worth telling.
void refusal_listener::note(std::string what)
{
    --budget_;
    const bool known = what.empty() || std::ranges::find(denied_, what) != denied_.end();
    if (!known && denied_.size() < most_denied) denied_.push_back(std::move(what));
}

bool refusal_listener::answer()
{
    pollfd wait{listener_.get(), POLLIN, 0};
    // Otherwise no filtered process is left, and none ever will be.
    if (::poll(&wait, 1, 0) == 1 && (wait.revents & POLLIN) == 0) listener_.reset();
    if (wait.revents == 0 || !listener_) return false;
    std::ranges::fill(call_, std::byte{});  // the kernel wants zeros
    if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, call_.data()) != 0) return false;
    const auto& call = *reinterpret_cast<const seccomp_notif*>(call_.data());
    std::ranges::fill(reply_, std::byte{});
    auto& reply = *reinterpret_cast<seccomp_notif_resp*>(reply_.data());
    reply.id = call.id;
    // A call of a foreign architecture gets no answer but the end.
    const bool native = is_native(call.data.arch, call.data.nr);
    if (native && call.data.nr == SYS_connect) {
        note(destination_of(call));
        reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else {
        note(syscall_name(call.data.nr, call.data.arch));
        reply.error = -EPERM;
    }
    if (native) ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &reply);  // fails only when the caller has gone
    return !native;
}

}  // namespace cmcp::sandbox
