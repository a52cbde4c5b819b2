#include "directory/directory.hpp"
#include "test/support/catch.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <exception>
#include <optional>

using namespace cmcp;
using asio::ip::tcp;

namespace {

// A directory of this test's own on loopback, which says what it is told to say.
struct place {
    asio::io_context io;
    tcp::acceptor acceptor{io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
    boost::asio::ssl::context tls{boost::asio::ssl::context::tls_client};
    std::optional<tcp::socket> peer;

    directory_address address(const std::string& password = {}) const
    {
        directory_address to;
        to.host = "127.0.0.1";
        to.port = acceptor.local_endpoint().port();
        to.password = password;
        return to;
    }

    // Gives each of `answers` for one command, and ends.
    awaitable<> answer(std::vector<std::string> answers)
    {
        peer.emplace(co_await acceptor.async_accept(asio::use_awaitable));
        std::string seen;
        for (const auto& each : answers) {
            const auto size =
                co_await asio::async_read_until(*peer, asio::dynamic_buffer(seen), "\r\nPING\r\n", asio::use_awaitable);
            seen.erase(0, size);
            co_await asio::async_write(*peer, asio::buffer(each), asio::use_awaitable);
        }
    }

    void run(awaitable<> work)
    {
        std::exception_ptr failure;
        asio::co_spawn(io, std::move(work), [&failure](std::exception_ptr e) { failure = e; });
        io.run();
        if (failure) std::rethrow_exception(failure);
    }
};

std::vector<directory_command> one_ping()
{
    std::vector<directory_command> commands;
    commands.push_back({"PING"});
    return commands;
}

awaitable<> read_and_note(directory_link& link, std::string& why)
{
    try {
        co_await link.read();
    } catch (const directory_away& away) {
        why = away.what();
    }
    link.close();
}

awaitable<> connect_and_note(directory_link& link, std::string& why)
{
    try {
        co_await link.connect();
    } catch (const directory_away& away) {
        why = away.what();
    }
}

awaitable<> ask_twice(directory_link& link, std::vector<std::vector<directory_reply>>& got, std::string& why)
{
    co_await link.connect();
    const auto executor = co_await asio::this_coro::executor;
    asio::co_spawn(executor, link.write(), asio::detached);
    asio::co_spawn(executor, read_and_note(link, why), asio::detached);
    for (int i = 0; i < 2; ++i) {
        auto question = one_ping();
        auto answers = co_await link.ask(std::move(question));
        got.push_back(std::move(answers));
    }
}

}  // namespace

TEST_CASE("an answer comes to the one who asked, and one that does not come ends the connection")
{
    place here;
    directory_link link(here.address(), here.tls);
    std::vector<std::vector<directory_reply>> got;
    std::string why;
    asio::co_spawn(here.io, here.answer({"+PONG\r\n", "$4\r\nmine\r\n"}), asio::detached);
    here.run(ask_twice(link, got, why));
    REQUIRE(got.size() == 2);
    REQUIRE(got[0].size() == 1);
    CHECK(got[0][0].text == "mine");
    CHECK(got[1].empty());
    CHECK(why == "it does not answer");
}

TEST_CASE("a directory that refuses the password is away, and says why")
{
    place here;
    directory_link link(here.address(), here.tls);
    std::string why;
    asio::co_spawn(here.io, here.answer({"-NOAUTH Authentication required.\r\n"}), asio::detached);
    here.run(connect_and_note(link, why));
    CHECK(why == "it says: NOAUTH Authentication required.");
}

TEST_CASE("where nobody listens, the directory is away")
{
    place here;
    const auto to = here.address();
    here.acceptor.close();
    directory_link link(to, here.tls);
    std::string why;
    here.run(connect_and_note(link, why));
    CHECK(why == "it refuses connections");
}

TEST_CASE("what speaks another protocol is no directory")
{
    place here;
    directory_link link(here.address(), here.tls);
    asio::co_spawn(here.io, here.answer({"HTTP/1.1 400 Bad Request\r\n\r\n"}), asio::detached);
    CHECK_THROWS_AS(here.run(link.connect()), std::runtime_error);
}
