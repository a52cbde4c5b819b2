#include "async/asio.hpp"
#include "commands/commands.hpp"
#include "config/settings.hpp"
#include "http/bound_address.hpp"
#include "streams/http_connection.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

namespace cmcp::command {

namespace {

namespace http = boost::beast::http;

constexpr auto patience = std::chrono::seconds(4);

// The address to reach a server that listens on `host`: the unspecified one is no destination.
std::string destination(const std::string& host)
{
    if (host == "0.0.0.0") return "127.0.0.1";
    return host == "::" ? "::1" : host;
}

awaitable<std::vector<stream_socket::endpoint_type>> addresses_of(const settings& config)
{
    if (const auto path = unix_path_of(config.host); !path.empty())
        co_return std::vector<stream_socket::endpoint_type>{asio::local::stream_protocol::endpoint(path)};
    const auto executor = co_await asio::this_coro::executor;
    asio::ip::tcp::resolver resolver(executor);
    const std::string host = destination(config.host);
    const std::string port = std::to_string(config.port);
    const auto addresses = co_await resolver.async_resolve(host, port, asio::use_awaitable);
    std::vector<stream_socket::endpoint_type> all;
    for (const auto& each : addresses) all.emplace_back(each.endpoint());
    co_return all;
}

std::string place_in_words(const settings& config)
{
    const auto path = unix_path_of(config.host);
    return path.empty() ? config.host + " port " + std::to_string(config.port) : path;
}

// The server of this configuration answers on this machine's own address: which certificate it shows proves nothing
// more. Where it wants one itself, it gets its own, which its authorities may have signed, too.
asio::ssl::context tls_of(const settings& config)
{
    asio::ssl::context tls(asio::ssl::context::tls_client);
    tls.set_verify_mode(asio::ssl::verify_none);
    if (config.tls_client_auth != "require") return tls;
    tls.use_certificate_chain_file(config.tls_cert.string());
    tls.use_private_key_file(config.tls_key.string(), asio::ssl::context::pem);
    return tls;
}

void check(const boost::system::error_code& failure)
{
    if (failure) throw boost::system::system_error(failure);
}

awaitable<stream_socket> connect_to(std::vector<stream_socket::endpoint_type> addresses)
{
    const auto executor = co_await asio::this_coro::executor;
    stream_socket socket(executor);
    boost::system::error_code failure = asio::error::host_not_found;
    for (const auto& each : addresses) {
        socket.close();
        failure = co_await connect_within(socket, each, patience);
        if (!failure) break;
    }
    check(failure);
    co_return std::move(socket);
}

awaitable<> ask_server(const settings& config, std::string page, unsigned& status)
{
    auto addresses = co_await addresses_of(config);
    auto socket = co_await connect_to(std::move(addresses));
    auto tls = tls_of(config);
    http_connection connection(std::move(socket));
    if (!config.tls_cert.empty() && unix_path_of(config.host).empty()) {
        connection.stream().begin_tls(tls);
        const auto failure = co_await connection.stream().handshake(asio::ssl::stream_base::client);
        check(failure);
    }
    http_connection::request request(http::verb::get, page, 11);
    request.set(http::field::host, "localhost:" + std::to_string(config.port));
    request.set(http::field::connection, "close");
    http_connection::whole_parser answer;
    const auto failure = co_await connection.ask(request, answer);
    check(failure);
    status = answer.get().result_int();
    std::cout << answer.get().body() << '\n';
}

}  // namespace

int health(const loaded_settings& loaded, bool live)
{
    asio::io_context io(1);
    unsigned status = 0;
    std::exception_ptr failure;
    asio::co_spawn(io, ask_server(loaded.values, live ? "/livez" : "/healthz", status),
                   [&](std::exception_ptr thrown) { failure = thrown; });
    io.run_for(patience);
    try {
        if (failure) std::rethrow_exception(failure);
    } catch (const boost::system::system_error& e) {
        std::cerr << "container-mcp: no server answers on " << place_in_words(loaded.values) << ": "
                  << e.code().message() << '\n';
        return 1;
    }
    if (status == 200) return 0;
    std::cerr << "container-mcp: the server on " << place_in_words(loaded.values)
              << (status == 0 ? " does not answer in time\n"
                              : " answers with HTTP status " + std::to_string(status) + '\n');
    return 1;
}

}  // namespace cmcp::command
