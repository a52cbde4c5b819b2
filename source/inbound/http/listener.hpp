#pragma once

#include "async/asio.hpp"
#include "async/task_group.hpp"
#include "http/bound_address.hpp"
#include "streams/stream_socket.hpp"

#include <boost/asio/basic_socket_acceptor.hpp>

#include <functional>
#include <vector>

namespace cmcp {

/// Accepts the clients of an address.
class listener {
public:
    listener(asio::io_context& io, bound_address address);

    /// At sockets that listen already. It has no address().
    listener(asio::any_io_executor executor, std::vector<unique_fd> sockets);

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
