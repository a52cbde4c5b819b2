#pragma once

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "posix/unique_fd.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace cmcp {

/// Lets a sandbox without network reach one port of this machine's loopback (that of the egress guard) and nothing
/// else: connections made inside come as frames over one socket pair. A frame is its kind ('o' opened, 'd' data, 'c'
/// closed), the connection's number and the length of the data (four bytes each, big end first), then the data. The
/// sandbox is not trusted, so lengths and numbers are bounded. Io thread only.
class channel_relay : public std::enable_shared_from_this<channel_relay> {
public:
    channel_relay(asio::any_io_executor executor, unique_fd channel, std::uint16_t port);

    /// Until the other end is closed or the coroutine is cancelled.
    awaitable<> run();

private:
    struct frame {
        char kind = 0;
        std::uint32_t number = 0;
        std::string data;
    };
    using socket_ptr = std::shared_ptr<asio::ip::tcp::socket>;

    awaitable<bool> read(frame& into);
    awaitable<bool> write(frame what);
    awaitable<> open(std::uint32_t number);
    awaitable<> from_guard(std::uint32_t number, socket_ptr to);
    void close(std::uint32_t number);

    asio::any_io_executor executor_;
    asio::posix::stream_descriptor channel_;
    std::uint16_t port_;
    std::map<std::uint32_t, socket_ptr> open_;
    event changed_;
    bool writing_ = false;
    task_group tasks_;
};

}  // namespace cmcp
