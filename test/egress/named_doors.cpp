#include "test/egress/client_hello.hpp"
#include "test/egress/egress_support.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/udp.hpp>

using namespace cmcp;
using namespace cmcp::test;
using asio::ip::tcp;
using asio::ip::udp;

namespace {

const std::string web_name = "localhost";  // which this machine's resolver knows

/// A web server whose name has an address of a door, at the server's own port.
struct door_stage {
    /// `entry`: what the sandbox's network and the operator's list have, in front of the port where it ends in ":".
    explicit door_stage(std::string entry, asio::ssl::context* tls = nullptr) : web(io, tls)
    {
        if (entry.ends_with(':')) entry += std::to_string(web.port());
        const auto list = [&] { return std::vector<egress_entry>{egress_entry::parse(entry)}; };
        const std::vector<egress_entry> opened{egress_entry::parse("127.0.0.0/8"), egress_entry::parse("::1")};
        auto policy = egress_policy::of_sandbox(list(), list(), opened);
        ticket = guard.issue("test", std::make_shared<const egress_policy>(std::move(policy)));
        ticket->hold_to_names();
        place = {names->v4_of(web_name), web.port()};
        const auto holder = [this] { return ticket; };
        asio::co_spawn(io, guard.serve_named_door(tcp::acceptor(io, place), names, holder), asio::detached);
    }

    proxy_client client() { return {io, place}; }
    std::string request(const std::string& host, const std::string& path = "/") const
    {
        return "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
    }
    std::string own_host() const { return web_name + ":" + std::to_string(web.port()); }
    std::string last_rule() const { return ticket->refusals().empty() ? "" : ticket->refusals().back().rule; }

    asio::io_context io;
    origin web;
    egress_guard guard{io.get_executor(), std::make_shared<const egress_policy>()};
    std::shared_ptr<name_addresses> names = std::make_shared<name_addresses>(
        false, name_addresses::range{asio::ip::make_address_v4("127.77.0.0"), 100, {}});
    std::shared_ptr<egress_ticket> ticket;
    tcp::endpoint place;
};

bool is_alert(const std::string& bytes) { return has(bytes, std::string("\x15\x03\x03\x00\x02\x02\x70", 7)); }

}  // namespace

TEST_CASE("requests with the name of their address pass, each by itself")
{
    door_stage s(web_name);
    s.web.on("/a", send(answer("first")));
    s.web.on("/b/../%2e", send(answer("second")));
    auto client = s.client();
    client.write(s.request(s.own_host(), "/a"));
    CHECK(has(client.read_answer(), "first"));
    client.write(s.request(s.own_host(), "/b/../%2e"));
    CHECK(has(client.read_answer(), "second"));
    client.write(s.request("elsewhere.test", "/a"));
    const auto refused = client.read_answer();
    CHECK(has(refused, "403"));
    CHECK(has(refused, "elsewhere.test"));
    CHECK(s.web.requests.size() == 2);
    CHECK(s.last_rule() == "name");
}

TEST_CASE("requests that say two things are refused")
{
    for (const std::string head :
         {"GET / HTTP/1.1\r\nHost: elsewhere.test\r\n", "GET / HTTP/1.1\r\nHost: OWN\r\nHost: elsewhere.test\r\n",
          "GET / HTTP/1.1\r\n", "GET http://elsewhere.test/ HTTP/1.1\r\nHost: OWN\r\n",
          "GET / HTTP/1.1\r\nHost: localhost:1\r\n", "GET / HTTP/1.1\r\nHost: OWN@elsewhere.test\r\n",
          "GET / HTTP/1.1\r\nHost: elsewhere.test\r\n OWN\r\n", "CONNECT elsewhere.test:443 HTTP/1.1\r\nHost: OWN\r\n",
          "OPTIONS * HTTP/1.1\r\nHost: OWN\r\n"}) {
        door_stage s(web_name);
        std::string text = head;
        for (auto at = text.find("OWN"); at != std::string::npos; at = text.find("OWN"))
            text.replace(at, 3, s.own_host());
        auto client = s.client();
        client.write(text + "\r\n");
        INFO(head);
        CHECK_FALSE(has(client.read_answer(), "200 OK"));
        CHECK(s.web.connections == 0);
    }
}

TEST_CASE("an upgrade to WebSocket becomes a tunnel, with what came early")
{
    door_stage s(web_name);
    s.web.on("/ws", send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                         "Sec-WebSocket-Accept: x\r\n\r\nearly"));
    auto client = s.client();
    client.write("GET /ws HTTP/1.1\r\nHost: " + s.own_host() +
                 "\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: y\r\n\r\n");
    const auto head = client.read_answer(true);
    CHECK(has(head, "101"));
    CHECK(has(head, "Sec-WebSocket-Accept: x"));
    CHECK(client.read_bytes(5) == "early");
    REQUIRE(s.web.requests.size() == 1);
    CHECK(has(s.web.requests[0], "Upgrade: websocket"));
}

TEST_CASE("TLS passes by its server name, and by no other")
{
    const test_ca ca(web_name);
    auto context = ca.server_context();
    for (const std::string name : {"localhost", "LOCALHOST", "elsewhere.test", ""}) {
        door_stage s(web_name, &context);
        const bool fits = name == "localhost" || name == "LOCALHOST";
        auto client = s.client();
        client.write(client_hello(name));
        INFO(name);
        const auto heard = client.read_bytes(7);
        CHECK(is_alert(heard) != fits);
        CHECK(heard[0] == (fits ? '\x16' : '\x15'));
        CHECK((s.web.connections == 1) == fits);
        CHECK((s.last_rule() == "name") != fits);
    }
}

TEST_CASE("other protocols pass at a port that the lists name, and nowhere else")
{
    door_stage named(web_name + ":");
    named.web.greeting = "welcome";
    auto waits = named.client();
    CHECK(waits.read_bytes(7) == "welcome");
    auto speaks = named.client();
    speaks.write("SSH-2.0-x\r\n");
    CHECK(speaks.read_bytes(7) == "welcome");
    door_stage unnamed(web_name);
    auto refused = unnamed.client();
    refused.write("SSH-2.0-x\r\n");
    CHECK(refused.read_rest().empty());
    CHECK(unnamed.last_rule() == "name");
    CHECK(unnamed.web.connections == 0);
}

TEST_CASE("a connection to an address without a name, or to a name that is no longer allowed, ends")
{
    door_stage s(web_name);
    s.web.on("/", send(answer("reached")));
    s.names->v4_of("elsewhere.test");
    const tcp::endpoint other(asio::ip::make_address("127.77.0.2"), s.web.port());
    asio::co_spawn(s.io, s.guard.serve_named_door(tcp::acceptor(s.io, other), s.names, [&] { return s.ticket; }),
                   asio::detached);
    proxy_client refused(s.io, other);
    refused.write(s.request("elsewhere.test:" + std::to_string(s.web.port())));
    CHECK_FALSE(has(refused.read_rest(), "reached"));
    CHECK(s.last_rule() == "SANDBOX_NETWORK_ALLOWED");
    s.ticket.reset();
    auto late = s.client();
    CHECK(late.read_rest().empty());
}

TEST_CASE("the tunnel of a ticket that holds to names is judged by what goes through it")
{
    door_stage s(web_name);
    s.web.on("/", send(answer("reached")));
    const auto through = [&](const std::string& first) {
        proxy_client client(s.io, s.guard, *s.ticket);
        client.write(guard_stage::connect(s.own_host()));
        CHECK(has(client.read_answer(true), "200"));
        client.write(first);
        return client.read_answer();
    };
    CHECK(has(through(s.request(s.own_host())), "reached"));
    CHECK(has(through(s.request("elsewhere.test")), "403"));
    proxy_client fronts(s.io, s.guard, *s.ticket);
    fronts.write(guard_stage::connect(s.own_host()));
    CHECK(has(fronts.read_answer(true), "200"));
    fronts.write(client_hello("elsewhere.test"));
    CHECK(is_alert(fronts.read_rest()));
    CHECK(s.web.requests.size() == 1);
    proxy_client literal(s.io, s.guard, *s.ticket);
    literal.write(guard_stage::connect(s.web.place()));
    CHECK(has(literal.read_answer(), "403"));
}

TEST_CASE("the end of a ticket ends what is open through a door")
{
    door_stage s(web_name + ":");
    s.web.greeting = "welcome";
    auto client = s.client();
    CHECK(client.read_bytes(7) == "welcome");
    s.ticket.reset();
    CHECK(client.read_rest().empty());
}

TEST_CASE("questions for names are answered here, and a refused name is noted once")
{
    door_stage s(web_name);
    udp::socket server(s.io, udp::endpoint(asio::ip::address_v4::loopback(), 0));
    udp::socket client(s.io, udp::endpoint(asio::ip::address_v4::loopback(), 0));
    const auto place = server.local_endpoint();
    std::shared_ptr<egress_ticket> now = s.ticket;
    asio::co_spawn(s.io, s.guard.serve_names(std::move(server), s.names, [&] { return now; }), asio::detached);
    const auto ask = [&](const std::string& labels, char type) {
        const std::string message = std::string("\1\2\1\0\0\1\0\0\0\0\0\0", 12) + labels + std::string("\0\0", 2) +
                                    type + std::string("\0\1", 2);
        client.send_to(asio::buffer(message), place);
        std::array<char, 512> answer{};
        const auto heard = [&]() -> awaitable<std::size_t> {
            return client.async_receive(asio::buffer(answer), asio::use_awaitable);
        };
        const auto size = run_coroutine(s.io, heard());
        return std::string(answer.data(), size);
    };
    CHECK(ask("\11localhost", 1).ends_with(std::string("\x7f\0\0\1", 4)));
    CHECK(ask("\11localhost", 28)[7] == 0);  // no record: the network has no IPv6
    for (int i = 0; i != 3; ++i) CHECK((ask("\6stolen\4test", 1)[3] & 0xf) == 3);
    CHECK(s.ticket->refusals().size() == 1);
    now.reset();
    CHECK((ask("\6stolen\4test", 1)[3] & 0xf) == 3);
}
