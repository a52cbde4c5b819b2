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

std::string destination(const std::string& address, std::uint16_t port, way by, bool has_doors)
{
    if (has_doors && by != way::none) return {};
    if (!has_doors && port == name_service) return "name look-up (DNS): the sandbox has no network";
    if (by == way::loopback) return {};
    return "connect to " + address + ":" + std::to_string(port) +
           (has_doors ? ": addresses have no way out of the sandbox, only names of its network have"
                      : ": the sandbox has no network");
}

std::string describe(const sockaddr_in& to, bool has_doors)
{
    char text[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &to.sin_addr, text, sizeof text);
    const std::uint32_t address = ntohl(to.sin_addr.s_addr);
    way by = (address >> 24) == 127 || address == 0 ? way::loopback : way::none;
    if (stands_for_name(to.sin_addr)) by = way::door;
    return destination(text, ntohs(to.sin_port), by, has_doors);
}

std::string describe(const sockaddr_in6& to, bool has_doors)
{
    char text[INET6_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET6, &to.sin6_addr, text, sizeof text);
    way by = IN6_IS_ADDR_LOOPBACK(&to.sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&to.sin6_addr) ? way::loopback : way::none;
    if (stands_for_name(to.sin6_addr)) by = way::door;
    return destination("[" + std::string(text) + "]", ntohs(to.sin6_port), by, has_doors);
}

std::string destination_of(const seccomp_notif& call, bool has_doors)
{
    sockaddr_storage to{};
    if (!read_address(call, to)) return {};
    if (to.ss_family == AF_INET) return describe(reinterpret_cast<const sockaddr_in&>(to), has_doors);
    if (to.ss_family == AF_INET6) return describe(reinterpret_cast<const sockaddr_in6&>(to), has_doors);
    return {};
}

}  // namespace

refusal_listener::refusal_listener(unique_fd listener, bool has_doors)
    : listener_(std::move(listener)), has_doors_(has_doors), budget_(each_look)
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
        note(destination_of(call, has_doors_));
        reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else {
        note(syscall_name(call.data.nr, call.data.arch));
        reply.error = -EPERM;
    }
    if (native) ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &reply);  // fails only when the caller has gone
    return !native;
}

}  // namespace cmcp::sandbox
