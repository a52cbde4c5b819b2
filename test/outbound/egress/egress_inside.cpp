#include "test/outbound/egress/egress_support.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <stdexcept>
#include <vector>

using namespace cmcp;
using namespace cmcp::test;

namespace {

constexpr std::uint16_t closed_port = 9;

awaitable<stream_socket> connect_to_origin(asio::io_context& io, std::uint16_t origin, std::uint16_t wanted)
{
    if (wanted == closed_port) throw std::runtime_error("Nothing answers on port 9 of the sandbox.");
    stream_socket socket(io);
    const asio::ip::tcp::endpoint endpoint(asio::ip::address_v4::loopback(), origin);
    co_await socket.async_connect(endpoint, asio::use_awaitable);
    co_return socket;
}

std::string ask(guard_stage& s, const egress_ticket& ticket, const std::string& url)
{
    auto client = s.client(ticket);
    client.write(guard_stage::get(url));
    return client.read_answer();
}

}  // namespace

TEST_CASE("a ticket that leads into a sandbox reaches the sandbox's loopback and nothing else")
{
    guard_stage s;
    s.web.on("/", send(answer("within")));
    const std::uint16_t origin_port = s.web.port();
    std::vector<std::uint16_t> ports;
    auto ticket = s.guard.issue("test");
    ticket->lead_into([&](std::uint16_t port) {
        ports.push_back(port);
        return connect_to_origin(s.io, origin_port, port);
    });
    for (const char* url :
         {"http://localhost:5000/", "http://127.0.0.1:5000/", "http://[::1]:5000/", "http://127.1:5000/"})
        CHECK(has(ask(s, *ticket, url), "within"));
    CHECK(ports == std::vector<std::uint16_t>(4, 5000));
    CHECK(has(ask(s, *ticket, "http://localhost:9/"), "Nothing answers on port 9"));
    for (const char* url : {"http://example.com/", "http://10.0.0.1/", "http://169.254.169.254/",
                            "http://localhost.evil/", "http://a.localhost:5000/", "http://0.0.0.0:5000/"}) {
        INFO(url);
        const auto refused = ask(s, *ticket, url);
        CHECK(has(refused, "403"));
        CHECK(has(refused, "reaches this sandbox alone"));
    }
    CHECK(ports.size() == 5);
    auto client = s.client(*ticket);
    client.write(guard_stage::connect("localhost:5001"));
    CHECK(has(client.read_answer(true), "200"));
    CHECK(ports.back() == 5001);
}
