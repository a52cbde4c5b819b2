#include "cell/cell_sockets.hpp"

#include "cell/cell_orders.hpp"
#include "jail/jail.hpp"
#include "limits/socket_memory.hpp"
#include "wire/packet_socket.hpp"
#include "wire/wire.hpp"

#include <linux/netlink.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>

namespace cmcp::sandbox {
namespace {

constexpr int netns_cookie = 71;  // SO_NETNS_COOKIE, which the headers of older systems lack

unique_fd make_socket(cell_socket kind)
{
    constexpr int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    switch (kind) {
        case cell_socket::tcp4:
            return unique_fd(::socket(AF_INET, type, IPPROTO_TCP));
        case cell_socket::tcp6:
            return unique_fd(::socket(AF_INET6, type, IPPROTO_TCP));
        case cell_socket::statistics:
            return open_socket_statistics();
    }
    errno = EINVAL;
    return {};
}

int option(int socket, int name)
{
    int value = -1;
    socklen_t length = sizeof value;
    return ::getsockopt(socket, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

bool is_of_kind(int socket, cell_socket kind)
{
    if (kind == cell_socket::statistics)
        return option(socket, SO_DOMAIN) == AF_NETLINK && option(socket, SO_PROTOCOL) == NETLINK_SOCK_DIAG;
    const int family = kind == cell_socket::tcp4 ? AF_INET : AF_INET6;
    return option(socket, SO_DOMAIN) == family && option(socket, SO_TYPE) == SOCK_STREAM &&
           option(socket, SO_PROTOCOL) == IPPROTO_TCP;
}

bool takes_datagrams(int socket)
{
    return option(socket, SO_DOMAIN) == AF_INET && option(socket, SO_TYPE) == SOCK_DGRAM &&
           option(socket, SO_PROTOCOL) == IPPROTO_UDP;
}

bool is_listener(int socket)
{
    return (is_of_kind(socket, cell_socket::tcp4) || is_of_kind(socket, cell_socket::tcp6)) &&
           option(socket, SO_ACCEPTCONN) == 1;
}

std::optional<std::uint64_t> cookie_of_network(int socket)
{
    std::uint64_t cookie = 0;
    socklen_t length = sizeof cookie;
    if (::getsockopt(socket, SOL_SOCKET, netns_cookie, &cookie, &length) != 0) return std::nullopt;
    return cookie;
}

// Kernels before 5.14 have no cookies; this needs CAP_NET_ADMIN over the network, which its maker has.
bool differs_by_file(int socket)
{
    const unique_fd network(::ioctl(socket, SIOCGSKNS));
    struct stat here {
    }, there{};
    if (!network || ::fstat(network.get(), &there) != 0 || ::stat("/proc/self/ns/net", &here) != 0) return false;
    return here.st_dev != there.st_dev || here.st_ino != there.st_ino;
}

// A network that cannot be identified counts as the launcher's own.
bool is_of_another_network(int socket)
{
    const unique_fd own(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto here = cookie_of_network(own.get()), there = cookie_of_network(socket);
    return here && there ? *here != *there : differs_by_file(socket);
}

}  // namespace

std::string encode_socket_order(std::uint64_t request, cell_socket kind)
{
    return encoded(cell_order::socket, request, kind);
}

void hand_out_socket(int control, std::string_view order)
{
    wire_reader in(order);
    in.next<cell_order>();
    const auto request = in.next<std::uint64_t>();
    const unique_fd socket = make_socket(in.next<cell_socket>());
    const int error = socket ? 0 : errno;
    const int number = socket.get();
    send_packet_waiting(control, encoded(child_says::socket, request, error),
                        socket ? std::span<const int>(&number, 1) : std::span<const int>());
}

std::string socket_obstacle(int descriptor, cell_socket kind)
{
    if (!is_of_kind(descriptor, kind)) return "it is not of the kind that was asked for";
    if (!is_of_another_network(descriptor)) return "it is not of the sandbox's own network";
    return {};
}

std::string doors_obstacle(std::span<const unique_fd> doors, std::size_t ports, bool tools)
{
    const auto listens = [](const unique_fd& each) { return is_listener(each.get()); };
    const auto is_apart = [](const unique_fd& each) { return is_of_another_network(each.get()); };
    const std::size_t of_names = ports == 0 ? 0 : 1;  // for the socket of datagrams, beside the proxy's listener
    if (doors.size() != 2 * of_names + ports + (tools ? 1 : 0))
        return "there are not as many sockets as were asked for";
    if ((of_names != 0 && !takes_datagrams(doors.front().get())) ||
        !std::ranges::all_of(doors.subspan(of_names), listens))
        return "a socket is not of the kind that was asked for";
    if (!std::ranges::all_of(doors, is_apart)) return "a socket is not of the sandbox's own network";
    return {};
}

}  // namespace cmcp::sandbox
