#include "streams/http_wire.hpp"

#include "streams/http_connection.hpp"
#include "test/runtime/streams/stream_pair.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

#include <boost/beast/http/error.hpp>

#include <array>

using namespace cmcp;
using boost::system::error_code;
using test::run_coroutine;
using test::stream_pair;
namespace http = boost::beast::http;

namespace {

constexpr std::string_view chunked =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwiki\r\n6\r\npedia \r\n0\r\n\r\n";

// The answer's body, read piece by piece into a room of `room` bytes.
awaitable<std::string> body_of(http_connection& connection, std::size_t room, error_code* failure)
{
    http_connection::parser parser;
    std::string body;
    *failure = co_await connection.read_header(parser);
    std::vector<char> space(room);
    while (!*failure && !parser.is_done()) {
        const auto piece = co_await connection.read_body(parser, asio::buffer(space));
        body.append(space.data(), piece.size);
        *failure = piece.failure;
    }
    co_return body;
}

std::string read_body(asio::io_context& io, stream_pair& pair, std::size_t room, error_code& failure)
{
    http_connection connection(pair.near, nullptr);
    return run_coroutine(io, body_of(connection, room, &failure));
}

awaitable<error_code> header_of(http_connection& connection)
{
    http_connection::parser parser;
    const auto failure = co_await connection.read_header(parser);
    co_return failure;
}

awaitable<std::vector<std::string>> two_answers(http_connection& connection)
{
    std::vector<std::string> bodies;
    for (int i = 0; i != 2; ++i) {
        http_connection::whole_parser answer;
        const auto failure = co_await read_message(connection.stream(), connection.buffer(), answer);
        bodies.push_back(failure ? failure.message() : answer.get().body());
    }
    co_return bodies;
}

}  // namespace

TEST_CASE("an answer is read whole however it is cut into pieces")
{
    for (std::size_t cut = 1; cut < chunked.size(); ++cut)
        for (const std::size_t room : {1u, 3u, 4096u}) {
            asio::io_context io;
            stream_pair pair(io);
            pair.send(chunked.substr(0, cut));
            // The rest comes once the first part has been read.
            pair.near.async_wait(stream_socket::wait_read,
                                 [&](error_code) { asio::post(io, [&] { pair.send(chunked.substr(cut)); }); });
            error_code failure;
            CHECK(read_body(io, pair, room, failure) == "wikipedia ");
            CHECK(!failure);
        }
}

TEST_CASE("a body without a length ends with the connection, and one with a length does not")
{
    asio::io_context io;
    error_code failure;
    stream_pair open(io);
    open.send("HTTP/1.1 200 OK\r\n\r\nto the end");
    open.end();
    CHECK(read_body(io, open, 4, failure) == "to the end");
    CHECK(!failure);
    stream_pair cut(io);
    cut.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nonly half");
    cut.end();
    CHECK(read_body(io, cut, 64, failure) == "only half");
    CHECK(failure == http::error::partial_message);
}

TEST_CASE("what a server sends in place of an answer has a name of its own")
{
    asio::io_context io;
    const auto of = [&](std::string_view sent) {
        stream_pair pair(io);
        if (!sent.empty()) pair.send(sent);
        pair.end();
        http_connection connection(pair.near, nullptr);
        return run_coroutine(io, header_of(connection));
    };
    CHECK(of("") == http::error::end_of_stream);
    CHECK(of("HTTP/1.1 2") == http::error::partial_message);
    CHECK(of("SSH-2.0-OpenSSH_9.2\r\n") == http::error::bad_version);
    CHECK(of("HTTP/1.1 200 OK\r\nA: " + std::string(20'000, 'x') + "\r\n\r\n") == http::error::header_limit);
}

TEST_CASE("a connection goes on with the bytes behind an answer")
{
    asio::io_context io;
    stream_pair pair(io);
    http_connection connection(pair.near, nullptr);
    CHECK(connection.may_go_on());
    pair.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\noneHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo");
    CHECK(!connection.may_go_on());
    CHECK(run_coroutine(io, two_answers(connection)) == std::vector<std::string>{"one", "two"});
    CHECK(connection.may_go_on());
    pair.end();
    CHECK(!connection.may_go_on());
}

TEST_CASE("a request goes out as one, its body behind its header")
{
    asio::io_context io;
    stream_pair pair(io);
    http_connection connection(pair.near, nullptr);
    http_connection::request request(http::verb::post, "/v1", 11);
    request.set(http::field::host, "h");
    request.body() = "body";
    request.prepare_payload();
    CHECK(!run_coroutine(io, connection.write(request)));
    const std::string wanted = "POST /v1 HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody";
    CHECK(pair.receive(wanted.size()) == wanted);
}

TEST_CASE("connections that are quiet are used again for the same server and terms, the last one first")
{
    asio::io_context io;
    const auto waiting = std::make_shared<idle_connections>(io.get_executor(), 2, std::chrono::seconds(60));
    stream_pair first(io), second(io), third(io);
    const auto terms = std::make_shared<const int>(1);
    const auto give = [&](stream_pair& of, const char* server, std::shared_ptr<const void> under = nullptr) {
        waiting->give_back(server, std::make_unique<http_connection>(of.near, nullptr), std::move(under));
    };
    give(first, "a", terms);
    CHECK(waiting->take("b", terms.get()) == nullptr);
    CHECK(waiting->take("a") == nullptr);
    give(second, "a", terms);
    auto taken = waiting->take("a", terms.get());
    REQUIRE(taken);
    CHECK(&taken->stream().socket() == &second.near);
    CHECK(taken->used_before);
    first.send("x");  // it speaks unasked, so it is no good
    CHECK(waiting->take("a", terms.get()) == nullptr);
    give(first, "c");
    give(second, "c");
    give(third, "c");  // the oldest goes
    second.end();
    taken = waiting->take("c");
    REQUIRE(taken);
    CHECK(&taken->stream().socket() == &third.near);
    CHECK(waiting->take("c") == nullptr);
    waiting->clear();
}
