#include "test/outbound/egress/egress_support.hpp"

using namespace cmcp;
using namespace cmcp::test;

TEST_CASE("a request in absolute form goes out in origin form, without what is meant for the proxy")
{
    guard_stage s;
    s.web.on("/a", send(answer("body", "text/plain", "Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nX-End: 2\r\n")));
    auto ticket = s.guard.issue("test");
    auto client = s.client(*ticket);
    client.write("GET " + s.web.url("/a?q=1") +
                 " HTTP/1.1\r\nHost: elsewhere\r\nX-Mine: 3\r\nConnection: X-Private\r\nX-Private: 4\r\n"
                 "Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eDp5\r\n\r\n");
    const auto reply = client.read_answer();
    REQUIRE(s.web.requests.size() == 1);
    const std::string& seen = s.web.requests[0];
    INFO(seen << reply);
    CHECK(has(seen, "GET /a?q=1 HTTP/1.1\r\n"));
    CHECK(has(seen, "Host: " + s.web.authority() + "\r\n"));
    CHECK(has(seen, "X-Mine: 3"));
    CHECK_FALSE(has(seen, "Proxy-"));
    CHECK_FALSE(has(seen, "X-Private"));
    CHECK(has(reply, "X-End: 2"));
    CHECK_FALSE(has(reply, "X-Hop: 1"));
    CHECK(has(reply, "\r\n\r\nbody"));
}

TEST_CASE("several requests come over one connection, each with its body")
{
    guard_stage s;
    s.web.on("/post", send(answer("posted")));
    s.web.on("/chunked", send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"));
    s.web.on("/until-close", {{step::kind::send, "HTTP/1.1 200 OK\r\n\r\nall of it", {}}, {step::kind::close, {}, {}}});
    s.web.on("/early", send("HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + answer("late")));
    auto ticket = s.guard.issue("test");
    auto client = s.client(*ticket);
    std::string post = s.get(s.web.url("/post"), "POST");
    post.insert(post.size() - 2, "Content-Length: 5\r\n");
    client.write(post + "hello");
    CHECK(has(client.read_answer(), "posted"));
    CHECK(has(s.web.requests.at(0), "\r\n\r\nhello"));
    client.write(s.get(s.web.url("/chunked")));
    CHECK(has(client.read_answer(), "Transfer-Encoding: chunked"));
    CHECK(client.read_bytes(13) == "3\r\nabc\r\n0\r\n\r\n");
    client.write(s.get(s.web.url("/until-close")));
    CHECK(has(client.read_answer(), "Transfer-Encoding: chunked"));
    CHECK(client.read_bytes(19) == "9\r\nall of it\r\n0\r\n\r\n");
    client.write(s.get(s.web.url("/post"), "HEAD"));
    CHECK(has(client.read_answer(true), "Content-Length: 6"));
    client.write(s.get(s.web.url("/early")));
    CHECK(has(client.read_answer(), "late"));
    CHECK(ticket->bytes() > 20);
}

TEST_CASE("CONNECT passes bytes both ways and the end of one of them")
{
    guard_stage s;
    s.web.on("/", send(answer("through the tunnel")));
    auto ticket = s.guard.issue("test");
    auto client = s.client(*ticket);
    client.write(s.connect(s.web.authority()) + "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(has(client.read_answer(), "200 OK"));
    CHECK(has(client.read_answer(), "through the tunnel"));
    client.half_close();
    CHECK(client.read_rest().empty());
    CHECK(ticket->connections() == 0);
}

TEST_CASE("what the policy refuses is answered with 403, the rule and a sentence, and kept in the ticket")
{
    guard_stage s;
    auto ticket = s.guard.issue("test");
    const auto refused = [&](const std::string& request, const egress_ticket& by) {
        auto client = s.client(by);
        client.write(request);
        return client.read_answer();
    };
    for (const char* target : {"127.0.0.1:1234", "127.1:1234", "[::1]:1234", "[::ffff:127.0.0.1]:1234",
                               "2130706433:1234", "localhost:1234"}) {
        INFO(target);
        const auto reply = refused(s.connect(target), *ticket);
        CHECK(has(reply, "403 Forbidden"));
        CHECK(has(reply, "X-Egress-Rule: loopback"));
        CHECK(has(reply, "WEB_ALLOWED_PRIVATE"));
        CHECK(ticket->refusals().back().rule == "loopback");
    }
    CHECK(has(refused(s.get("http://169.254.169.254/latest/meta-data/"), *ticket), "X-Egress-Rule: cloud metadata"));
    const auto unknown = refused(s.get("http://does-not-exist.invalid/"), *ticket);
    const std::string rule =
        ticket->refusals().back().rule;  // "timeout" without a network, because no name server answers
    CHECK(((has(unknown, "502 Bad Gateway") && rule == "unresolved") ||
           (has(unknown, "504 Gateway Timeout") && rule == "timeout")));
    CHECK(ticket->refusals().back().host == "does-not-exist.invalid");
    auto strict = s.guard.issue("strict", rules({"example.com"}, {}));
    CHECK(has(refused(s.connect("example.org:443"), *strict), "X-Egress-Rule: WEB_ALLOWED_DOMAINS"));
    CHECK(s.web.connections == 0);
}

TEST_CASE("requests that no proxy takes are refused")
{
    guard_stage s;
    auto ticket = s.guard.issue("test");
    for (const char* target :
         {"/origin-form", "https://example.com/", "ftp://example.com/", "http://user:pw@example.com/"}) {
        INFO(target);
        auto client = s.client(*ticket);
        client.write(s.get(target));
        CHECK(has(client.read_answer(), "400 Bad Request"));
    }
    for (const char* target :
         {"example.com", "example.com:0", "example.com:70000", "user@example.com:443", "a%20b:443"}) {
        INFO(target);
        auto client = s.client(*ticket);
        client.write(s.connect(target));
        CHECK(has(client.read_answer(), "400 Bad Request"));
    }
}

TEST_CASE("a port where nobody listens is answered with 502")
{
    guard_stage s;
    std::uint16_t closed = 0;
    {
        asio::ip::tcp::acceptor gone(s.io, {asio::ip::address_v4::loopback(), 0});
        closed = gone.local_endpoint().port();
    }
    const std::string target = "127.0.0.1:" + std::to_string(closed);
    auto ticket = s.guard.issue("test", rules({"*"}, {target}));
    auto client = s.client(*ticket);
    client.write(s.connect(target));
    CHECK(has(client.read_answer(), "502 Bad Gateway"));
    CHECK(ticket->refusals().back().rule == "unreachable");
    CHECK(ticket->connections() == 0);
}

TEST_CASE("a ticket that ends closes its connections")
{
    guard_stage s;
    auto ticket = s.guard.issue("test");
    auto client = s.client(*ticket);
    client.write(s.connect(s.web.authority()));
    CHECK(has(client.read_answer(), "200 OK"));
    ticket.reset();
    CHECK(client.read_rest().empty());
    const egress_ticket unknown("test", rules({"*"}, {s.web.authority()}), {});
    auto other = s.client(unknown);
    other.write(s.connect(s.web.authority()));
    CHECK(other.read_rest().empty());
    CHECK(s.web.connections == 1);
}

TEST_CASE("bytes, connections and silence have limits")
{
    guard_stage s;
    s.web.on("/big",
             {{step::kind::send, "HTTP/1.1 200 OK\r\n\r\n", {}}, {step::kind::endless, std::string(10'000, 'x'), {}}});
    egress_limits limits;
    limits.bytes = 100'000;
    limits.connections = 1;
    limits.idle = std::chrono::milliseconds(150);
    auto ticket = s.guard.issue("test", limits);
    auto client = s.client(*ticket);
    client.write(s.connect(s.web.authority()));
    CHECK(has(client.read_answer(), "200 OK"));
    auto second = s.client(*ticket);
    second.write(s.connect(s.web.authority()));
    CHECK(has(second.read_answer(), "503 Service Unavailable"));
    CHECK(client.read_rest().empty());  // the idle tunnel was closed
    auto third = s.client(*ticket);
    third.write(s.get(s.web.url("/big")));
    const auto got = third.read_rest();
    CHECK(got.size() > 50'000);
    CHECK(got.size() < 200'000);
    CHECK(ticket->refusals().back().rule == "bytes");
}

TEST_CASE("tickets of one account move so much together, and connect no more when it is used up")
{
    struct of_all final : byte_account {
        bool take(std::uint64_t bytes) override { return (moved += bytes) < 150'000; }
        std::string refusal() override { return "Nothing is left."; }
        std::uint64_t moved = 0;
    };
    guard_stage s;
    s.web.on("/some", send(answer(std::string(90'000, 'x'))));
    const auto account = std::make_shared<of_all>();
    const auto first = s.guard.issue("one"), second = s.guard.issue("other");
    for (const auto& each : {first, second}) each->charge_to(account);
    auto client = s.client(*first);
    client.write(s.get(s.web.url("/some")));
    CHECK(client.read_answer().size() > 90'000);
    CHECK(first->refusals().empty());
    auto other = s.client(*second);
    other.write(s.get(s.web.url("/some")));
    CHECK(other.read_rest().size() < 90'000);
    REQUIRE(second->refusals().size() == 1);
    CHECK(second->refusals()[0].rule == "bytes");
    CHECK(second->refusals()[0].sentence == "Nothing is left.");
    const auto connections = s.web.connections;
    auto late = s.client(*first);
    late.write(s.get(s.web.url("/some")));
    const auto reply = late.read_answer();
    CHECK(has(reply, "503 Service Unavailable"));
    CHECK(has(reply, "Nothing is left."));
    CHECK(s.web.connections == connections);
}

TEST_CASE("an upstream without a valid answer is answered with 502, and the ticket keeps what it did")
{
    guard_stage s;
    s.web.on("/ssh", send("SSH-2.0-OpenSSH_9.2\r\n\r\n"));
    s.web.on("/nothing", {{step::kind::close, {}, {}}});
    s.web.on("/half", {{step::kind::send, "HTTP/1.1 200 OK\r\nX-A: ", {}}, {step::kind::close, {}, {}}});
    s.web.on("/header", {{step::kind::send, "HTTP/1.1 200 OK\r\nX-Header: ", {}},
                         {step::kind::endless, std::string(1000, 'x'), {}}});
    const std::pair<const char*, const char*> cases[] = {{"/ssh", "sent no valid HTTP answer"},
                                                         {"/nothing", "closed the connection without an answer"},
                                                         {"/half", "closed the connection before its answer was whole"},
                                                         {"/header", "sent a header of more than 64 KiB"}};
    for (const auto& [path, sentence] : cases) {
        auto ticket = s.guard.issue("test");
        auto client = s.client(*ticket);
        client.write(s.get(s.web.url(path)));
        const auto reply = client.read_answer();
        INFO(path << ": " << reply);
        CHECK(has(reply, "502 Bad Gateway"));
        CHECK(has(reply, sentence));
        REQUIRE(ticket->refusals().size() == 1);
        CHECK(ticket->refusals()[0].rule == "bad response");
        CHECK(ticket->refusals()[0].host == "127.0.0.1");
        CHECK(ticket->refusals()[0].port == s.web.port());
        CHECK(has(ticket->refusals()[0].sentence, sentence));
    }
}

TEST_CASE("a guard that stops closes its connections")
{
    guard_stage s;
    auto ticket = s.guard.issue("test");
    auto client = s.client(*ticket);
    client.write(s.connect(s.web.authority()));
    CHECK(has(client.read_answer(), "200 OK"));
    s.guard.stop();
    CHECK(client.read_rest().empty());
}
