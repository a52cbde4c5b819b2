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
constexpr std::size_t most_idle = 32;
constexpr auto longest_idle = std::chrono::seconds(20);

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
    http::request_serializer<http::string_body> serializer(message);
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

connection_pool::connection_pool(asio::any_io_executor executor, std::filesystem::path extra_ca,
                                 std::string_view setting)
    : extra_ca_(std::move(extra_ca)), setting_(setting), reaper_(executor)
{
    if (!extra_ca_.empty()) trust_ = shared_client_context(extra_ca_, setting_);  // a bad file stops the start
}

// Where there is no file, the machine's authorities are read at the first use: most servers have none.
awaitable<std::shared_ptr<boost::asio::ssl::context>> connection_pool::trust()
{
    if (trust_) co_return trust_;
    auto file = extra_ca_;
    auto setting = setting_;
    trust_ = co_await find_client_context(std::move(file), std::move(setting));
    co_return trust_;
}

std::unique_ptr<http_stream> connection_pool::take(const egress_ticket& ticket, const web_url& to)
{
    for (auto at = idle_.begin(); at != idle_.end();) {
        if (at->policy != ticket.policy() || at->origin != to.origin()) {
            ++at;
            continue;
        }
        auto stream = std::move(at->stream);
        at = idle_.erase(at);
        if (stream->is_quiet()) return stream;
    }
    return nullptr;
}

void connection_pool::give_back(const egress_ticket& ticket, const web_url& to, std::unique_ptr<http_stream> stream)
{
    stream->used_before = true;
    stream->idle_since = std::chrono::steady_clock::now();
    idle_.push_back({ticket.policy(), to.origin(), std::move(stream)});
    if (idle_.size() > most_idle) idle_.pop_front();
    if (idle_.size() == 1) close_old();
}

void connection_pool::close_old()
{
    const auto now = std::chrono::steady_clock::now();
    while (!idle_.empty() && idle_.front().stream->idle_since + longest_idle <= now) idle_.pop_front();
    if (idle_.empty()) return;
    reaper_.expires_at(idle_.front().stream->idle_since + longest_idle);
    reaper_.async_wait([weak = weak_from_this()](boost::system::error_code failure) {
        const auto me = weak.lock();
        if (me && !failure) me->close_old();
    });
}

void connection_pool::clear()
{
    idle_.clear();
    reaper_.cancel();
}

}  // namespace cmcp
