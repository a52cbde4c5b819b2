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

awaitable<std::vector<tcp::endpoint>> endpoints_of(std::string host, std::uint16_t port)
{
    std::vector<tcp::endpoint> endpoints;
    if (const auto address = address_in(host)) {
        endpoints.emplace_back(*address, port);
        co_return endpoints;
    }
    try {
        const auto addresses = co_await resolve(host);
        for (const auto& each : addresses) endpoints.emplace_back(each, port);
    } catch (const resolve_error& unknown) {
        throw unreachable_server(host + ": " + unknown.what());
    }
    co_return endpoints;
}

}  // namespace

std::optional<asio::ip::address> address_in(const std::string& host)
{
    error_code no_address;
    const auto address = asio::ip::make_address(host, no_address);
    return no_address ? std::nullopt : std::optional(address);
}

std::string connection_problem(const error_code& failure)
{
    if (failure == boost::beast::error::timeout) return "it does not answer";
    if (failure == asio::error::connection_refused) return "it refuses connections";
    if (failure == asio::error::eof) return "it has closed the connection";
    return failure.message();
}

awaitable<stream_socket> reach(std::string host, std::uint16_t port, std::chrono::seconds limit)
{
    const auto endpoints = co_await endpoints_of(std::move(host), port);
    const auto executor = co_await asio::this_coro::executor;
    error_code failure = asio::error::host_not_found;
    stream_socket socket(executor);
    for (const auto& endpoint : endpoints) {
        socket = stream_socket(executor);
        failure = co_await connect_within(socket, endpoint, limit);
        if (!failure || failure == asio::error::operation_aborted) break;
    }
    if (failure == asio::error::operation_aborted) throw boost::system::system_error(failure);
    if (failure) throw unreachable_server(connection_problem(failure));
    socket.set_option(tcp::no_delay(true), failure);
    socket.set_option(asio::socket_base::keep_alive(true), failure);
    co_return std::move(socket);
}

}  // namespace cmcp
