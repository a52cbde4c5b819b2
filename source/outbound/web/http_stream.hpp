#pragma once

#include "async/asio.hpp"
#include "egress/egress_connector.hpp"
#include "egress/web_url.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <chrono>
#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <string_view>

namespace cmcp {

/// A connection to a web server, with or without TLS. One request at a time. The operations give error codes.
class http_stream {
public:
    using parser = boost::beast::http::response_parser<boost::beast::http::buffer_body>;
    using request = boost::beast::http::request<boost::beast::http::string_body>;

    explicit http_stream(egress_socket connection);
    http_stream(const http_stream&) = delete;
    http_stream& operator=(const http_stream&) = delete;

    /// Over the open connection. Throws fetch_error with the trouble of TLS.
    awaitable<> handshake(boost::asio::ssl::context& trust, host who);

    awaitable<boost::system::error_code> write(const request& message);
    awaitable<boost::system::error_code> read_header(parser& into);
    awaitable<boost::system::error_code> read_some(parser& into);

    /// No byte and no end has come since the last answer, so that it may be used again.
    bool is_quiet();

    std::chrono::steady_clock::time_point idle_since;
    bool used_before = false;

private:
    using tls_stream = boost::asio::ssl::stream<asio::ip::tcp::socket&>;

    egress_socket connection_;
    std::unique_ptr<tls_stream> tls_;
    boost::beast::flat_buffer buffer_;
};

/// Connections that wait for another request, and the certificates that TLS trusts.
class connection_pool : public std::enable_shared_from_this<connection_pool> {
public:
    connection_pool(asio::any_io_executor executor, std::filesystem::path extra_ca, std::string_view setting);

    /// A connection that is open and quiet, or null.
    std::unique_ptr<http_stream> take(const egress_ticket& ticket, const web_url& to);
    void give_back(const egress_ticket& ticket, const web_url& to, std::unique_ptr<http_stream> stream);
    void clear();

    awaitable<std::shared_ptr<boost::asio::ssl::context>> trust();

private:
    struct idle {
        std::shared_ptr<const egress_policy> policy;  // only compared
        std::string origin;
        std::unique_ptr<http_stream> stream;
    };
    void close_old();

    std::filesystem::path extra_ca_;
    std::string setting_;
    std::shared_ptr<boost::asio::ssl::context> trust_;
    std::list<idle> idle_;  // oldest first
    asio::steady_timer reaper_;
};

}  // namespace cmcp
