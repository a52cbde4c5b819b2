#include "streams/http_connection.hpp"

#include "streams/http_wire.hpp"

#include <boost/beast/http/error.hpp>

#include <utility>

namespace cmcp {

namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr std::size_t most_buffered = 256 * 1024;

}  // namespace

http_connection::http_connection(stream_socket&& socket) : stream_(std::move(socket)), buffer_(most_buffered) {}

http_connection::http_connection(stream_socket& socket, std::shared_ptr<void> owner)
    : owner_(std::move(owner)), stream_(socket), buffer_(most_buffered)
{
}

awaitable<error_code> http_connection::write(const request& message)
{
    http::request_serializer<http::string_body> serializer(message);
    const auto sent = co_await write_message(stream_, serializer);
    co_return sent.failure;
}

awaitable<error_code> http_connection::ask(const request& message, whole_parser& answer)
{
    auto failure = co_await write(message);
    if (!failure) failure = co_await read_message(stream_, buffer_, answer);
    co_return failure;
}

awaitable<error_code> http_connection::read_header(parser& into) { return cmcp::read_header(stream_, buffer_, into); }

awaitable<byte_stream::transfer> http_connection::read_body(parser& from, asio::mutable_buffer room)
{
    auto& body = from.get().body();
    body.data = room.data();
    body.size = room.size();
    byte_stream::transfer piece;
    piece.failure = co_await read_some(stream_, buffer_, from);
    piece.size = room.size() - body.size;
    if (piece.failure == http::error::need_buffer) piece.failure = {};
    co_return piece;
}

idle_connections::idle_connections(const asio::any_io_executor& executor, std::size_t most,
                                   std::chrono::seconds longest)
    : most_(most), longest_(longest), reaper_(executor)
{
}

std::unique_ptr<http_connection> idle_connections::take(const std::string& server, const void* terms)
{
    for (auto at = waiting_.end(); at != waiting_.begin();) {
        --at;
        if (at->server != server || at->terms.get() != terms) continue;
        auto connection = std::move(at->connection);
        at = waiting_.erase(at);
        if (connection->may_go_on()) return connection;
    }
    return nullptr;
}

void idle_connections::give_back(std::string server, std::unique_ptr<http_connection> connection,
                                 std::shared_ptr<const void> terms)
{
    connection->stream().expires_never();
    connection->used_before = true;
    const auto now = std::chrono::steady_clock::now();
    waiting_.push_back({std::move(server), std::move(terms), std::move(connection), now});
    if (waiting_.size() > most_) waiting_.pop_front();
    if (waiting_.size() == 1) close_old();
}

void idle_connections::close_old()
{
    const auto now = std::chrono::steady_clock::now();
    while (!waiting_.empty() && waiting_.front().since + longest_ <= now) waiting_.pop_front();
    if (waiting_.empty()) return;
    reaper_.expires_at(waiting_.front().since + longest_);
    reaper_.async_wait([weak = weak_from_this()](error_code failure) {
        const auto still = weak.lock();
        if (still && !failure) still->close_old();
    });
}

void idle_connections::close_if(const std::function<bool(const std::string& server)>& is_left)
{
    std::erase_if(waiting_, [&](const auto& each) { return is_left(each.server); });
}

void idle_connections::clear()
{
    waiting_.clear();
    reaper_.cancel();
}

}  // namespace cmcp
