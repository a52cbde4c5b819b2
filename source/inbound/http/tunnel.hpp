#pragma once

#include "async/asio.hpp"
#include "http/client_socket.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/stream_traits.hpp>

#include <array>
#include <memory>
#include <string_view>

namespace cmcp {

/// Two connections of which each one's bytes go to the other, until either ends. Lives in the frame of tunnel().
template <class Stream>
class byte_tunnel {
public:
    byte_tunnel(client_socket& peer, Stream& to) : peer_(peer), to_(to) {}

    awaitable<> pass_up()
    {
        for (bool more = true; more;) {
            const auto bytes = peer_.buffer().data();
            const auto [error, size] = co_await asio::async_write(to_, bytes, as_tuple);
            peer_.buffer().consume(peer_.buffer().size());
            if (error || ended_) break;
            more = co_await peer_.read_some();
        }
        boost::beast::get_lowest_layer(to_).close();
    }

    awaitable<> pass_down(boost::beast::flat_buffer& first)
    {
        std::string_view bytes(static_cast<const char*>(first.cdata().data()), first.size());
        bool sent = co_await peer_.write(bytes);
        while (sent) {
            const auto [error, size] = co_await to_.async_read_some(asio::buffer(piece_), as_tuple);
            if (error) break;
            const std::string_view piece(piece_.data(), size);
            sent = co_await peer_.write(piece);
        }
        ended_ = true;
        peer_.abort();
    }

private:
    client_socket& peer_;
    Stream& to_;
    std::array<char, 32 * 1024> piece_;
    bool ended_ = false;  // by the other server
};

/// `first`: bytes of the other server that have come already.
template <class Stream>
awaitable<> tunnel(client_socket& peer, Stream& to, boost::beast::flat_buffer& first)
{
    boost::beast::get_lowest_layer(to).expires_never();
    const auto executor = co_await asio::this_coro::executor;
    const auto both = std::make_unique<byte_tunnel<Stream>>(peer, to);
    auto group =
        asio::experimental::make_parallel_group(asio::co_spawn(executor, both->pass_up(), asio::deferred),
                                                asio::co_spawn(executor, both->pass_down(first), asio::deferred));
    co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
}

}  // namespace cmcp
