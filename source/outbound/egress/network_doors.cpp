#include "egress/network_doors.hpp"

#include <utility>

#include <sys/socket.h>

namespace cmcp {

namespace {

constexpr std::size_t first_named_door = 2;  // after the one of names and the proxy's

template <class Protocol>
Protocol protocol_of(int socket)
{
    int family = AF_INET;
    socklen_t length = sizeof family;
    ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &length);
    return family == AF_INET6 ? Protocol::v6() : Protocol::v4();
}

template <class Socket>
Socket adopt(const asio::any_io_executor& executor, unique_fd descriptor)
{
    Socket socket(executor);
    using protocol = typename Socket::protocol_type;
    socket.assign(protocol_of<protocol>(descriptor.get()), descriptor.get());
    static_cast<void>(descriptor.release());
    return socket;
}

}  // namespace

void serve_network_doors(egress_guard& guard, task_group& tasks, std::vector<unique_fd> doors,
                         std::shared_ptr<name_addresses> names, egress_guard::holder of)
{
    using asio::ip::tcp;
    using asio::ip::udp;
    if (doors.size() <= first_named_door) return;
    const auto executor = guard.executor();
    auto questions = adopt<udp::socket>(executor, std::move(doors[0]));
    tasks.spawn("names of a sandbox", guard.serve_names(std::move(questions), names, of));
    auto proxy = adopt<tcp::acceptor>(executor, std::move(doors[1]));
    tasks.spawn("proxy of a sandbox", guard.serve_door(std::move(proxy), of));
    for (std::size_t i = first_named_door; i < doors.size(); ++i) {
        auto door = adopt<tcp::acceptor>(executor, std::move(doors[i]));
        tasks.spawn("door of a sandbox", guard.serve_named_door(std::move(door), names, of));
    }
}

}  // namespace cmcp
