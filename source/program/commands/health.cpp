#include "async/asio.hpp"
#include "commands/commands.hpp"
#include "config/settings.hpp"
#include "http/bound_address.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

namespace cmcp::command {

namespace {

namespace beast = boost::beast;
namespace http = beast::http;

constexpr auto patience = std::chrono::seconds(4);

using stream_protocol = asio::generic::stream_protocol;
using tcp_or_unix = beast::basic_stream<stream_protocol>;
using places = std::vector<stream_protocol::endpoint>;

// The address to reach a server that listens on `host`: the unspecified one is no destination.
std::string destination(const std::string& host)
{
    if (host == "0.0.0.0") return "127.0.0.1";
    return host == "::" ? "::1" : host;
}

awaitable<places> places_of(const settings& config)
{
    if (const auto path = unix_path_of(config.host); !path.empty())
        co_return places{asio::local::stream_protocol::endpoint(path)};
    const auto executor = co_await asio::this_coro::executor;
    asio::ip::tcp::resolver resolver(executor);
    const std::string host = destination(config.host);
    const std::string port = std::to_string(config.port);
    const auto addresses = co_await resolver.async_resolve(host, port, asio::use_awaitable);
    places all;
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

template <class Stream>
awaitable<> ask(Stream& stream, const settings& config, std::string page, unsigned& status)
{
    http::request<http::empty_body> request(http::verb::get, page, 11);
    request.set(http::field::host, "localhost:" + std::to_string(config.port));
    request.set(http::field::connection, "close");
    co_await http::async_write(stream, request, asio::use_awaitable);
    beast::flat_buffer buffer;
    http::response<http::string_body> response;
    co_await http::async_read(stream, buffer, response, asio::use_awaitable);
    status = response.result_int();
    std::cout << response.body() << '\n';
}

awaitable<> ask_server(const settings& config, std::string page, unsigned& status)
{
    const auto executor = co_await asio::this_coro::executor;
    const auto addresses = co_await places_of(config);
    tcp_or_unix stream(executor);
    stream.expires_after(patience);
    co_await stream.async_connect(addresses, asio::use_awaitable);
    if (config.tls_cert.empty() || !unix_path_of(config.host).empty())
        co_return co_await ask(stream, config, std::move(page), status);
    auto tls = tls_of(config);
    asio::ssl::stream<tcp_or_unix&> secure(stream, tls);
    co_await secure.async_handshake(asio::ssl::stream_base::client, asio::use_awaitable);
    co_await ask(secure, config, std::move(page), status);
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
