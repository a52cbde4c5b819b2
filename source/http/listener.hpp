#pragma once

#include "async/asio.hpp"
#include "async/task_group.hpp"
#include "http/bound_address.hpp"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include <functional>
#include <vector>

namespace cmcp {

/// The connection of a client: TCP, or a UNIX socket.
using stream_socket = asio::generic::stream_protocol::socket;

/// Accepts the clients of an address.
class listener {
public:
    listener(asio::io_context& io, bound_address address);

    const bound_address& address() const { return address_; }

    using accepted = std::function<void(stream_socket)>;
    void start(task_group& tasks, accepted take);
    void close();

private:
    using acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;

    static awaitable<> accept_all(acceptor& from, accepted take);

    bound_address address_;
    std::vector<acceptor> acceptors_;
};

}  // namespace cmcp
