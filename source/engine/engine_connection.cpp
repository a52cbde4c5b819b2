#include "engine/engine_connection.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace cmcp::engine {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t longest_answer = 16 << 20;
constexpr std::size_t piece = 32 << 10;

}  // namespace

awaitable<> engine_connection::connect(std::string path)
{
    const asio::local::stream_protocol::endpoint where(path);
    co_await socket_.async_connect(where, asio::use_awaitable);
}

awaitable<> engine_connection::send(std::string method, std::string target, std::string body, bool upgrade)
{
    http::request<http::string_body> request(http::string_to_verb(method), target, 11);
    request.set(http::field::host, "engine");
    if (upgrade) {
        request.set(http::field::connection, "Upgrade");
        request.set(http::field::upgrade, "tcp");
    } else {
        request.set(http::field::connection, "close");
    }
    if (!body.empty()) request.set(http::field::content_type, "application/json");
    request.body() = std::move(body);
    request.prepare_payload();
    co_await http::async_write(socket_, request, asio::use_awaitable);
}

awaitable<engine_answer> engine_connection::ask(std::string method, std::string target, std::string body)
{
    auto sending = send(std::move(method), std::move(target), std::move(body), false);
    co_await std::move(sending);
    http::response_parser<http::string_body> parser;
    parser.body_limit(longest_answer);
    co_await http::async_read(socket_, buffer_, parser, asio::use_awaitable);
    engine_answer answer;
    answer.status = static_cast<int>(parser.get().result_int());
    answer.body = std::move(parser.get().body());
    co_return answer;
}

awaitable<engine_answer> engine_connection::hijack(std::string target)
{
    auto sending = send("POST", std::move(target), {}, true);
    co_await std::move(sending);
    http::response_parser<http::string_body> parser;
    parser.body_limit(longest_answer);
    co_await http::async_read_header(socket_, buffer_, parser, asio::use_awaitable);
    engine_answer answer;
    answer.status = static_cast<int>(parser.get().result_int());
    if (answer.status == 101 || answer.status == 200) co_return answer;
    co_await http::async_read(socket_, buffer_, parser, asio::use_awaitable);
    answer.body = std::move(parser.get().body());
    co_return answer;
}

awaitable<std::string> engine_connection::read_some()
{
    std::string bytes;
    if (buffer_.size() != 0) {
        // Bytes that came together with the head of the answer.
        const auto early = buffer_.data();
        bytes.assign(static_cast<const char*>(early.data()), early.size());
        buffer_.consume(buffer_.size());
        co_return bytes;
    }
    bytes.resize(piece);
    auto [failure, size] = co_await socket_.async_read_some(asio::buffer(bytes), as_tuple);
    if (failure && failure != asio::error::eof && failure != asio::error::connection_reset)
        throw boost::system::system_error(failure);
    bytes.resize(failure ? 0 : size);
    co_return bytes;
}

void engine_connection::close()
{
    boost::system::error_code ignored;
    socket_.close(ignored);
}

}  // namespace cmcp::engine
