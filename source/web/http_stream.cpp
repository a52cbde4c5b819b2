#include "web/http_stream.hpp"

#include "egress/tls_trust.hpp"
#include "web/fetch_error.hpp"

#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <sys/socket.h>

namespace cmcp {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t most_buffered = 256 * 1024;

}  // namespace

http_stream::http_stream(egress_socket connection) : connection_(std::move(connection)), buffer_(most_buffered) {}

awaitable<> http_stream::handshake(boost::asio::ssl::context& trust, host who)
{
    tls_ = std::make_unique<tls_stream>(connection_.socket, trust);
    expect_host(tls_->native_handle(), who.name, who.address.has_value());
    auto [failure] = co_await tls_->async_handshake(boost::asio::ssl::stream_base::client, as_tuple);
    if (failure == asio::error::operation_aborted) throw boost::system::system_error(failure);
    if (failure)
        throw fetch_error("tls", "No secure connection to " + who.text() + ": " +
                                     handshake_problem(tls_->native_handle(), failure) + ".");
}

awaitable<error_code> http_stream::write(const request& message)
{
    http::request_serializer<http::empty_body> serializer(message);
    if (tls_) {
        auto [failure, sent] = co_await http::async_write(*tls_, serializer, as_tuple);
        co_return failure;
    }
    auto [failure, sent] = co_await http::async_write(connection_.socket, serializer, as_tuple);
    co_return failure;
}

awaitable<error_code> http_stream::read_header(parser& into)
{
    if (tls_) {
        auto [failure, got] = co_await http::async_read_header(*tls_, buffer_, into, as_tuple);
        co_return failure;
    }
    auto [failure, got] = co_await http::async_read_header(connection_.socket, buffer_, into, as_tuple);
    co_return failure;
}

awaitable<error_code> http_stream::read_some(parser& into)
{
    if (tls_) {
        auto [failure, got] = co_await http::async_read_some(*tls_, buffer_, into, as_tuple);
        co_return failure;
    }
    auto [failure, got] = co_await http::async_read_some(connection_.socket, buffer_, into, as_tuple);
    co_return failure;
}

bool http_stream::is_quiet()
{
    char byte = 0;
    const auto seen = ::recv(connection_.socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return buffer_.size() == 0 && seen < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace cmcp
