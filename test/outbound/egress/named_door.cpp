#include "test/outbound/egress/door_stage.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

/// Writes, and reads until the end of the connection.
std::string all_of(proxy_client client, const std::string& bytes)
{
    client.write(bytes);
    return client.read_rest();
}

}  // namespace

TEST_CASE("a request to an address that stands for a name reaches the host of that name")
{
    door_stage s;
    s.web.on("/a", send(answer("body")));
    auto client = s.client();
    client.write(s.get("/a?q=%zz|"));
    CHECK(has(client.read_answer(), "\r\n\r\nbody"));
    client.write(s.get("http://" + s.authority() + "/a"));
    CHECK(has(client.read_answer(), "\r\n\r\nbody"));
    REQUIRE(s.web.requests.size() == 2);
    CHECK(has(s.web.requests[0], "GET /a?q=%zz| HTTP/1.1\r\n"));
    CHECK(has(s.web.requests[0], "Host: " + s.authority() + "\r\n"));
    CHECK(has(s.web.requests[1], "GET /a HTTP/1.1\r\n"));
    CHECK(s.ticket->refusals().empty());
}

TEST_CASE("each request of a connection must be for the name of the connection")
{
    door_stage s;
    s.web.on("/", send(answer("body")));
    const std::string other = "Host: " + s.authority("two.localhost") + "\r\n";
    auto client = s.client();
    client.write(s.get() + "GET / HTTP/1.1\r\n" + other + "\r\n");
    CHECK(has(client.read_answer(), "\r\n\r\nbody"));
    const auto second = client.read_rest();
    CHECK(has(second, "403 Forbidden"));
    CHECK(has(second, "X-Egress-Rule: host"));
    CHECK(has(second, "the request is for the host two.localhost"));
    CHECK(s.last_rule() == "host");
    CHECK(s.web.requests.size() == 1);
}

TEST_CASE("requests that could be read as being for another host do not leave")
{
    door_stage s;
    const std::string host = "Host: " + s.authority() + "\r\n", two = "Host: " + s.authority("two.localhost") + "\r\n";
    const std::string body = "POST / HTTP/1.1\r\n" + host;
    for (const std::string& request : {
             "GET / HTTP/1.1\r\n" + two + "\r\n",
             "GET / HTTP/1.1\r\n" + host + two + "\r\n",
             "GET / HTTP/1.1\r\n" + host + host + "\r\n",
             std::string("GET / HTTP/1.0\r\n\r\n"),
             "GET / HTTP/1.1\r\nHost: localhost:" + std::to_string(s.web.port()) + "\r\n two.localhost\r\n\r\n",
             std::string("GET / HTTP/1.1\r\nHost: localhost/@two.localhost\r\n\r\n"),
             std::string("GET / HTTP/1.1\r\nHost: localhost:1\r\n\r\n"),
             std::string("GET / HTTP/1.1\r\nHost:\r\n\r\n"),
             "GET http://" + s.authority("two.localhost") + "/ HTTP/1.1\r\n" + host + "\r\n",
             "GET http://" + s.authority() + "/ HTTP/1.1\r\n" + two + "\r\n",
             "GET https://" + s.authority() + "/ HTTP/1.1\r\n" + host + "\r\n",
             "CONNECT " + s.authority("two.localhost") + " HTTP/1.1\r\n" + host + "\r\n",
             body + "Transfer-Encoding: gzip\r\n\r\n",
             body + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
         }) {
        INFO(request);
        const auto reply = all_of(s.client(), request);
        CHECK(has(reply, "403 Forbidden"));
        CHECK(has(reply, "X-Egress-Rule: host"));
    }
    for (const std::string& request : {
             "\r\nGET / HTTP/1.1\r\n" + host + "\r\n",
             "GET  / HTTP/1.1\r\n" + host + "\r\n",
             std::string("GET / HTTP/1.1\r\nHost : localhost\r\n\r\n"),
             body + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
             body + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         }) {
        INFO(request);
        CHECK_FALSE(has(all_of(s.client(), request), "200 OK"));
    }
    CHECK(s.web.requests.empty());
}

TEST_CASE("what frames the body of a request cannot be taken out of it")
{
    door_stage s;
    s.web.on("/", send(answer("body")));
    const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: two.localhost\r\n\r\n";
    auto client = s.client();
    client.write(s.get("/", "Connection: Content-Length, X-A\r\nX-A: 1\r\nContent-Length: " +
                                std::to_string(hidden.size()) + "\r\n") +
                 hidden);
    CHECK(has(client.read_answer(), "\r\n\r\nbody"));
    REQUIRE(s.web.requests.size() == 1);
    CHECK(has(s.web.requests[0], "Content-Length: "));
    CHECK_FALSE(has(s.web.requests[0], "X-A"));
}

TEST_CASE("an upgrade to WebSocket becomes a tunnel, and another one does not")
{
    door_stage s;
    s.web.on("/socket", send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Sec-WebSocket-Accept: x\r\n\r\nfirst frame"));
    s.web.on("/plain", send(answer("plain")));
    auto client = s.client();
    client.write(s.get("/socket", "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"));
    const auto switched = client.read_answer(true);
    CHECK(has(switched, "101 Switching Protocols"));
    CHECK(has(switched, "Upgrade: websocket"));
    CHECK(has(switched, "Sec-WebSocket-Accept: x"));
    CHECK(client.read_bytes(11) == "first frame");
    CHECK(has(s.web.requests.at(0), "Upgrade: websocket"));
    client.write(s.get("/plain"));  // the test's server still speaks HTTP
    CHECK(has(client.read_answer(), "plain"));
    auto other = s.client();
    other.write(s.get("/plain", "Upgrade: h2c\r\nConnection: Upgrade\r\n"));
    CHECK(has(other.read_answer(), "plain"));
    CHECK_FALSE(has(s.web.requests.back(), "h2c"));
}

TEST_CASE("a name that the policy refuses is refused in the words of the client's protocol")
{
    door_stage s({"two.localhost"});
    const auto reply = all_of(s.client(), s.get());
    CHECK(has(reply, "403 Forbidden"));
    CHECK(has(reply, "X-Egress-Rule: network"));
    CHECK(has(reply, s.authority() + " is refused: it is not in the sandbox's network"));
    CHECK(all_of(s.client(), client_hello("localhost")) == alert_of(access_denied_alert));
    CHECK(all_of(s.client(), "SSH-2.0-x\r\n").empty());
    CHECK(s.client().read_rest().empty());  // says nothing
    CHECK(s.ticket->refusals().size() == 4);
    CHECK(s.last_rule() == "network");
    CHECK(s.web.connections == 0);
}

TEST_CASE("a name that leads to an address which is not public is refused")
{
    door_stage s({"localhost"}, {});
    const auto reply = all_of(s.client(), s.get());
    CHECK(has(reply, "X-Egress-Rule: loopback"));
    CHECK(has(reply, "SANDBOX_NETWORK_PRIVATE"));
    CHECK(all_of(s.client(), client_hello("localhost")) == alert_of(access_denied_alert));
    CHECK(s.web.connections == 0);
}

TEST_CASE("a client at an address that stands for no name is dropped")
{
    door_stage s;
    const auto nobody = std::make_shared<name_addresses>(asio::ip::make_network_v4("127.78.0.0/16"));
    task_group tasks(s.io.get_executor());
    asio::ip::tcp::acceptor door(s.io, {asio::ip::address_v4::loopback(), 0});
    const auto endpoint = door.local_endpoint();
    tasks.spawn("door", s.guard.serve_named_door(std::move(door), nobody, [&] { return s.ticket; }));
    CHECK(proxy_client(s.io, endpoint).read_rest().empty());
    tasks.cancel_all();
    run_coroutine(s.io, tasks.wait_idle(std::chrono::seconds(10)));
}

TEST_CASE("other protocols are passed on where the policy names the port")
{
    for (const char* opening : {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "SSH-2.0-x\r\n\r\n", "GET /\r\n\r\n"}) {
        INFO(opening);
        door_stage closed;
        CHECK(all_of(closed.client(), opening).empty());
        CHECK(closed.last_rule() == "protocol");
        CHECK(has(closed.ticket->refusals().back().sentence, "need an entry with the port, \"" + closed.authority()));
        CHECK(closed.web.connections == 0);
        door_stage open({"localhost:%"});
        auto client = open.client();
        client.write(opening);
        CHECK(has(client.read_answer(), "404 Not Found"));
        CHECK(std::string(opening).starts_with(open.web.requests.at(0)));
        const auto reply =
            all_of(open.client(), "GET / HTTP/1.1\r\nHost: " + open.authority("two.localhost") + "\r\n\r\n");
        CHECK(has(reply, "X-Egress-Rule: host"));
    }
}

TEST_CASE("a server speaks first where the policy names the port, and its client is still held to the name")
{
    door_stage s({"localhost:%"});
    s.web.greeting = "220 ready\r\n";
    s.web.on("/", send(answer("body")));
    auto client = s.client();
    CHECK(client.read_bytes(11) == "220 ready\r\n");
    client.write("HELO\r\n\r\n");
    CHECK(has(client.read_answer(), "404 Not Found"));
    auto hello = s.client();
    CHECK(hello.read_bytes(11) == "220 ready\r\n");
    hello.write(client_hello("two.localhost"));
    CHECK(hello.read_rest().empty());
    CHECK(s.last_rule() == "server name");
    auto request = s.client();
    CHECK(request.read_bytes(11) == "220 ready\r\n");
    request.write(s.get());
    CHECK(request.read_rest().empty());
    CHECK(s.last_rule() == "host");
    auto half = s.client();
    CHECK(half.read_bytes(11) == "220 ready\r\n");
    half.write(client_hello("two.localhost").substr(0, 50));
    half.half_close();
    CHECK(half.read_rest().empty());
    CHECK(s.web.requests.size() == 1);
}

TEST_CASE("a client that waits for its server is told in the ticket that the policy names no port")
{
    egress_limits limits;
    limits.idle = std::chrono::milliseconds(400);
    door_stage s({"localhost"}, {"127.0.0.1", "::1"}, nullptr, limits);
    CHECK(s.client().read_rest().empty());
    CHECK(s.last_rule() == "protocol");
    CHECK(has(s.ticket->refusals().back().sentence, "waits for the server to speak first"));
    CHECK(s.web.connections == 0);
}

TEST_CASE("a client that is slow to speak is served as others")
{
    door_stage s({"localhost:%"});
    s.web.on("/", send(answer("body")));
    auto client = s.client();
    while (s.web.connections == 0) s.io.run_one();  // the door has given up to wait for the first word
    client.write(s.get());
    CHECK(has(client.read_answer(), "\r\n\r\nbody"));
    CHECK(s.web.connections == 1);
    client.write(s.get());
    CHECK(has(client.read_answer(), "\r\n\r\nbody"));
    CHECK(s.web.connections == 2);
}

TEST_CASE("a sandbox takes no more than its share of the guard's clients")
{
    door_stage s;
    s.web.on("/", send(answer("body")));
    std::vector<proxy_client> open;
    for (int i = 0; i < 256; ++i) open.push_back(s.client());
    CHECK(s.client().read_rest().empty());
    open.front().write(s.get());
    CHECK(has(open.front().read_answer(), "\r\n\r\nbody"));
    open.pop_back();
    while (s.web.connections < 2) {
        auto later = s.client();
        later.write(s.get());
        if (later.read_answer().empty()) continue;
        CHECK(s.web.connections == 2);
    }
}

TEST_CASE("a ticket that ends closes the connections of a door, and so do its limits")
{
    egress_limits limits;
    limits.bytes = 100'000;
    limits.idle = std::chrono::milliseconds(700);
    door_stage s({"localhost:%"}, {"127.0.0.1", "::1"}, nullptr, limits);
    s.web.greeting = "220 ready\r\n";
    s.web.on("/big", {{step::kind::endless, std::string(10'000, 'x'), {}}});
    auto idle = s.client();
    CHECK(idle.read_bytes(11) == "220 ready\r\n");
    CHECK(idle.read_rest().empty());
    auto big = s.client();
    CHECK(big.read_bytes(11) == "220 ready\r\n");
    big.write("X /big \r\n\r\n");
    CHECK(big.read_rest().size() < 200'000);
    CHECK(s.last_rule() == "bytes");
    s.ticket = s.guard.issue("test", std::make_shared<egress_policy>(*s.ticket->policy()));
    auto open = s.client();
    CHECK(open.read_bytes(11) == "220 ready\r\n");
    s.ticket.reset();
    CHECK(open.read_rest().empty());
    CHECK(s.client().read_rest().empty());
}
