#pragma once

#include "async/asio.hpp"
#include "egress/egress_connector.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace cmcp {

/// A connection to a web server, with or without TLS. One request at a time. The operations give error codes.
class http_stream {
public:
    using parser = boost::beast::http::response_parser<boost::beast::http::buffer_body>;
    using request = boost::beast::http::request<boost::beast::http::empty_body>;

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

}  // namespace cmcp
