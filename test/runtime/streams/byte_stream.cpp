#include "streams/byte_stream.hpp"

#include "test/runtime/streams/stream_pair.hpp"
#include "test/support/catch.hpp"
#include "test/support/certificates.hpp"
#include "test/support/run_coroutine.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/error.hpp>

#include <array>

using namespace cmcp;
using boost::system::error_code;
using test::run_coroutine;
using test::stream_pair;
namespace ssl = boost::asio::ssl;
using std::chrono::milliseconds;

namespace {

awaitable<byte_stream::transfer> read_within(byte_stream& from, milliseconds limit)
{
    std::array<char, 16> room;
    from.expires_after(limit);
    const auto got = co_await from.read_some(asio::buffer(room));
    co_return got;
}

awaitable<std::string> read_all(byte_stream& from)
{
    std::string all;
    std::array<char, 1000> room;
    for (;;) {
        const auto got = co_await from.read_some(asio::buffer(room));
        all.append(room.data(), got.size);
        if (got.failure) co_return all;
    }
}

awaitable<std::size_t> write_both(byte_stream& to, std::string first, std::string second)
{
    std::vector<asio::const_buffer> both{asio::buffer(first), asio::buffer(second)};
    const auto sent = co_await to.write(std::move(both));
    co_return sent.size;
}

awaitable<error_code> accept(byte_stream& stream)
{
    const auto failure = co_await stream.handshake(ssl::stream_base::server);
    co_return failure;
}

awaitable<std::string> connect_and_read(byte_stream& stream)
{
    const auto failure = co_await stream.handshake(ssl::stream_base::client);
    if (failure) co_return failure.message();
    auto all = co_await read_all(stream);
    co_return all;
}

awaitable<std::size_t> accept_and_write(byte_stream& stream, std::string first, std::string second)
{
    const auto failure = co_await accept(stream);
    if (failure) co_return 0;
    const auto size = co_await write_both(stream, std::move(first), std::move(second));
    stream.close();
    co_return size;
}

}  // namespace

TEST_CASE("an operation that does not end within its limit ends as a timeout and closes the socket")
{
    asio::io_context io;
    stream_pair pair(io);
    byte_stream stream(pair.near);
    pair.send("in time");
    CHECK(run_coroutine(io, read_within(stream, std::chrono::hours(1))).size == 7);
    const auto began = std::chrono::steady_clock::now();
    CHECK(run_coroutine(io, read_within(stream, milliseconds(30))).failure == boost::beast::error::timeout);
    CHECK(std::chrono::steady_clock::now() - began >= milliseconds(30));
    CHECK(!pair.near.is_open());
}

TEST_CASE("a limit that was taken back does not pass")
{
    asio::io_context io;
    stream_pair pair(io);
    byte_stream stream(pair.near);
    stream.expires_after(milliseconds(1));
    stream.expires_never();
    io.run();  // until nothing waits any more
    CHECK(pair.near.is_open());
}

TEST_CASE("what passes through TLS arrives as it was, in short pieces and in long ones")
{
    test::certificates files;
    const auto authority = files.authority("authority", "test");
    const auto own = files.signed_by(authority, "own", "localhost");
    for (const std::size_t size : {10u, 16u * 1024, 200'000u}) {
        asio::io_context io;
        stream_pair ends(io);
        stream_socket far(io, asio::generic::stream_protocol(AF_UNIX, 0), ends.far);
        ends.far = -1;
        ssl::context server(ssl::context::tls_server), client(ssl::context::tls_client);
        server.use_certificate_chain_file(own.certificate.string());
        server.use_private_key_file(own.key.string(), ssl::context::pem);
        client.load_verify_file(authority.certificate.string());
        client.set_verify_mode(ssl::verify_peer);
        byte_stream giver(far), taker(ends.near);
        giver.begin_tls(server);
        taker.begin_tls(client);
        const std::string first(size, 'a'), second(size / 2, 'b');
        using namespace asio::experimental::awaitable_operators;
        const auto [sent, received] =
            run_coroutine(io, accept_and_write(giver, first, second) && connect_and_read(taker));
        CHECK(sent == first.size() + second.size());
        CHECK(received == first + second);
    }
}
