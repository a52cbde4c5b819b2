#pragma once

#include "async/asio.hpp"
#include "posix/unique_fd.hpp"

#include <boost/asio/local/stream_protocol.hpp>

#include <memory>

namespace cmcp::engine {

/// Carries bytes both ways between a run's channel (run_request::channel) and the first connection to a listening
/// socket, the way by which a container reaches it. Io thread only.
class channel_bridge : public std::enable_shared_from_this<channel_bridge> {
public:
    /// Throws boost::system::system_error.
    channel_bridge(asio::any_io_executor executor, unique_fd listener, unique_fd channel);

    awaitable<> run();  ///< until both sides have ended, or close()
    void close();       ///< what has arrived by then may be lost

private:
    using socket = asio::local::stream_protocol::socket;

    awaitable<> carry(socket& from, socket& to);

    asio::local::stream_protocol::acceptor listener_;
    socket channel_;
    socket peer_;
};

}  // namespace cmcp::engine
