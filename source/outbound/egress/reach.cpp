#include "egress/reach.hpp"

#include "egress/resolver.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/beast/core/error.hpp>

#include <utility>
#include <vector>

namespace cmcp {

using asio::ip::tcp;
using boost::system::error_code;

namespace {

awaitable<std::vector<tcp::endpoint>> places_of(std::string host, std::uint16_t port)
{
    std::vector<tcp::endpoint> places;
    error_code no_address;
    const auto address = asio::ip::make_address(host, no_address);
    if (!no_address) places.emplace_back(address, port);
    if (!no_address) co_return places;
    try {
        const auto addresses = co_await resolve(host);
        for (const auto& each : addresses) places.emplace_back(each, port);
    } catch (const resolve_error& unknown) {
        throw unreachable_server(host + ": " + unknown.what());
    }
    co_return places;
}

}  // namespace

std::string connection_problem(const error_code& failure)
{
    if (failure == boost::beast::error::timeout) return "it does not answer";
    if (failure == asio::error::connection_refused) return "it refuses connections";
    if (failure == asio::error::eof) return "it has closed the connection";
    return failure.message();
}

awaitable<stream_socket> reach(std::string host, std::uint16_t port, std::chrono::seconds limit)
{
    const auto places = co_await places_of(std::move(host), port);
    const auto executor = co_await asio::this_coro::executor;
    error_code failure = asio::error::host_not_found;
    stream_socket socket(executor);
    for (const auto& place : places) {
        socket = stream_socket(executor);
        failure = co_await connect_within(socket, place, limit);
        if (!failure || failure == asio::error::operation_aborted) break;
    }
    if (failure == asio::error::operation_aborted) throw boost::system::system_error(failure);
    if (failure) throw unreachable_server(connection_problem(failure));
    socket.set_option(tcp::no_delay(true), failure);
    socket.set_option(asio::socket_base::keep_alive(true), failure);
    co_return std::move(socket);
}

}  // namespace cmcp
