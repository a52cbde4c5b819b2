#include "config/settings.hpp"
#include "test/inbound/transport/http_fixture.hpp"
#include "test/support/catch.hpp"
#include "test/support/temporary_folder.hpp"
#include "transport/stdio_entrance.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <optional>

using namespace cmcp;
using namespace cmcp::test;

namespace {

/// A server with the socket for clients of `container-mcp stdio`.
struct with_entrance final : http_fixture::addition {
    http_parts add(asio::io_context& io, server_core& core) override
    {
        loop = &io;
        core.tools().profiles().define("few", {"echo"});
        entrance.emplace(io, bound_address("unix:" + path(), 0), core, config, "serve");
        return {};
    }
    void before_start(asio::io_context&, http_server&) override { entrance->start(); }
    void after_stop() override { entrance.reset(); }
    void stop()
    {
        asio::post(*loop, [this] { entrance->stop(); });
    }
    std::string path() const { return (folder.path / "stdio.sock").string(); }

    temporary_folder folder;
    settings config = http_fixture::quick_settings();
    asio::io_context* loop = nullptr;
    std::optional<stdio_entrance> entrance;
};

/// A blocking client. A wait that takes too long throws.
class line_client {
public:
    explicit line_client(const with_entrance& server) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        server.path().copy(address.sun_path, sizeof address.sun_path - 1);
        const timeval limit{60, 0};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            throw std::runtime_error("connect");
    }

    void send(std::string_view text)
    {
        while (!text.empty()) {
            const auto count = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
            if (count <= 0) return;
            text.remove_prefix(static_cast<std::size_t>(count));
        }
    }

    /// Empty at the end.
    std::string line()
    {
        for (;;) {
            if (const auto end = read_.find('\n'); end != std::string::npos) {
                auto first = read_.substr(0, end);
                read_.erase(0, end + 1);
                return first;
            }
            char piece[4096];
            const auto count = ::recv(socket_.get(), piece, sizeof piece, 0);
            if (count < 0 && errno == EAGAIN) throw std::runtime_error("nothing came");
            if (count <= 0) return {};
            read_.append(piece, static_cast<std::size_t>(count));
        }
    }
    json::object message() { return json::parse(line()).as_object(); }

    stdio_welcome greet(std::string profile = {})
    {
        send(stdio_greeting{std::move(profile)}.text());
        return stdio_welcome::read(line()).value();
    }
    void begin()
    {
        greet();
        send(
            R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}})"
            "\n");
        message();
    }
    /// Sends an empty line, which no server answers.
    bool can_send() { return ::send(socket_.get(), "\n", 1, MSG_NOSIGNAL) == 1; }
    void end_input() { ::shutdown(socket_.get(), SHUT_WR); }

private:
    unique_fd socket_;
    std::string read_;
};

}  // namespace

TEST_CASE("clients of stdio are served beside each other, each with ids of its own")
{
    with_entrance more;
    http_fixture server(more.config, more);
    line_client one(more), two(more);
    one.begin();
    two.begin();
    one.send(call(1, "wait") + "\n");
    REQUIRE(eventually([&] { return server.probe().started == 1; }));
    two.send(call(1, "echo", R"({"text":"two"})") + "\n");
    CHECK(two.message().at("result").at("structuredContent").at("text") == "two");
    two.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})"
             "\n" +
             call(2, "echo") + "\n");
    CHECK(two.message().at("id") == 2);
    CHECK(server.probe().cancelled == 0);
    server.release();
    CHECK(one.message().at("id") == 1);
}

TEST_CASE("the end of one client of stdio concerns no other, and what it asked for is answered first")
{
    with_entrance more;
    more.config.drain_timeout = std::chrono::seconds(60);
    http_fixture server(more.config, more);
    line_client one(more), two(more);
    one.begin();
    two.begin();
    one.send(call(1, "wait") + "\n" + call_2026(2, "echo") + "\n");
    CHECK(one.message().at("id") == 2);
    one.end_input();
    two.send(call(1, "echo") + "\n");
    CHECK(two.message().at("id") == 1);
    server.release();
    CHECK(one.message().at("id") == 1);
    CHECK(one.line().empty());
    two.send(call(2, "echo") + "\n");
    CHECK(two.message().at("id") == 2);
}

TEST_CASE("what runs too long after the end of its client of stdio is cancelled")
{
    with_entrance more;
    more.config.drain_timeout = std::chrono::milliseconds(50);
    http_fixture server(more.config, more);
    line_client client(more);
    client.begin();
    client.send(call(1, "wait") + "\n");
    REQUIRE(eventually([&] { return server.probe().started == 1; }));
    client.end_input();
    CHECK(client.line().empty());
    CHECK(server.probe().cancelled == 1);
}

TEST_CASE("the first line of a client of stdio says what it wants, or it is refused")
{
    with_entrance more;
    http_fixture server(more.config, more);
    line_client few(more), unknown(more), wrong(more), later(more), endless(more), silent(more);
    silent.send(R"({"container_mcp_st)");
    CHECK(few.greet("few").profile == "few");
    few.send(
        R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}})"
        "\n");
    CHECK(few.message().at("result").at("tools").as_array().size() == 1);
    const auto other = unknown.greet("nobody's");
    CHECK(other.profile.empty());
    CHECK(other.refusal.empty());
    wrong.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    CHECK_FALSE(stdio_welcome::read(wrong.line()).value().refusal.empty());
    CHECK(wrong.line().empty());
    later.send("{\"container_mcp_stdio\":2}\n");
    CHECK_FALSE(stdio_welcome::read(later.line()).value().refusal.empty());
    endless.send(std::string(100'000, 'x'));
    CHECK(endless.line().empty());
    CHECK(server.health().at("sessions") == 0);
}

TEST_CASE("clients of stdio are answered at the end of the server, and nobody comes in any more")
{
    with_entrance more;
    more.config.drain_timeout = std::chrono::seconds(60);
    http_fixture server(more.config, more);
    line_client client(more);
    client.begin();
    client.send(call(1, "wait") + "\n");
    REQUIRE(eventually([&] { return server.probe().started == 1; }));
    more.stop();
    CHECK(eventually([&] { return ::access(more.path().c_str(), F_OK) != 0; }));
    CHECK_THROWS(line_client(more));
    server.release();
    CHECK(client.message().at("id") == 1);
    CHECK(client.line().empty());
}

TEST_CASE("the welcome says which server it is, and what it takes")
{
    with_entrance more;
    http_fixture server(more.config, more);
    line_client client(more);
    const auto welcome = client.greet();
    CHECK(welcome.server == "serve");
    CHECK(welcome.process == ::getpid());
    CHECK(welcome.longest_line == more.config.max_body_bytes);
}

TEST_CASE("a server that ends takes no line of a client of stdio any more, and lets the client know")
{
    with_entrance more;
    more.config.drain_timeout = std::chrono::seconds(60);
    http_fixture server(more.config, more);
    line_client client(more);
    client.begin();
    client.send(call(1, "wait") + "\n");
    REQUIRE(eventually([&] { return server.probe().started == 1; }));
    CHECK(client.can_send());
    more.stop();
    CHECK(eventually([&] { return !client.can_send(); }));
    server.release();
    CHECK(client.message().at("id") == 1);
    CHECK(client.line().empty());
}
