#include "engine/channel_bridge.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/write.hpp>

#include <string>

namespace cmcp::engine {

channel_bridge::channel_bridge(asio::any_io_executor executor, unique_fd listener, unique_fd channel)
    : listener_(executor, asio::local::stream_protocol(), listener.release()),
      channel_(executor, asio::local::stream_protocol(), channel.release()),
      peer_(executor)
{
}

awaitable<> channel_bridge::carry(socket& from, socket& to)
{
    std::string buffer(32 << 10, '\0');
    for (;;) {
        auto [failure, size] = co_await from.async_read_some(asio::buffer(buffer), as_tuple);
        if (failure) break;
        auto [unsent, sent] = co_await asio::async_write(to, asio::buffer(buffer, size), as_tuple);
        if (unsent) break;
    }
    boost::system::error_code ignored;
    to.shutdown(socket::shutdown_send, ignored);
}

awaitable<> channel_bridge::run()
{
    const auto self = shared_from_this();
    auto [failure] = co_await listener_.async_accept(peer_, as_tuple);
    boost::system::error_code ignored;
    listener_.close(ignored);
    if (failure) co_return;
    auto executor = channel_.get_executor();
    auto group =
        asio::experimental::make_parallel_group(asio::co_spawn(executor, carry(channel_, peer_), asio::deferred),
                                                asio::co_spawn(executor, carry(peer_, channel_), asio::deferred));
    co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
}

void channel_bridge::close()
{
    boost::system::error_code ignored;
    listener_.close(ignored);
    channel_.close(ignored);
    peer_.close(ignored);
}

}  // namespace cmcp::engine
