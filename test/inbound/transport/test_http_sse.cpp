#include "test/inbound/transport/http_fixture.hpp"

#include "config/settings.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::test;
using namespace std::chrono_literals;

namespace {

const std::string initialize =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})";

struct sse_client {
    explicit sse_client(http_fixture& server, std::string_view extra = {}) : stream(server.port()), posts(server.port())
    {
        stream.send(get("/sse", extra));
        head = stream.read_head();
        auto first = stream.read_event();
        name = first.name;
        endpoint = first.data;
    }

    int say(const std::string& body) { return posts.request(post(endpoint, body)).status; }
    json::value hear() { return stream.read_event().parsed(); }

    raw_client stream;
    raw_client posts;
    raw_response head;
    std::string name;
    std::string endpoint;
};

}  // namespace

TEST_CASE("the first event of /sse names an absolute endpoint, and replies come on the stream")
{
    http_fixture server;
    sse_client client(server);
    CHECK(client.head.field("content-type") == "text/event-stream");
    CHECK(client.name == "endpoint");
    CHECK(client.endpoint.starts_with("/messages?sessionId="));
    CHECK(client.say(initialize) == 202);
    CHECK(client.hear().at("result").at("protocolVersion") == "2024-11-05");
    CHECK(client.say(R"({"jsonrpc":"2.0","method":"notifications/initialized"})") == 202);
    CHECK(client.say(call(1, "echo", R"({"text":"hi"})")) == 202);
    CHECK(client.hear().at("id") == 1);
}

TEST_CASE("the endpoint of /sse stands behind the path of MCP_PUBLIC_URL, and is answered there, too")
{
    auto config = http_fixture::quick_settings();
    config.public_url = "https://example.org/tools/";
    http_fixture server(config);
    sse_client client(server);
    CHECK(client.endpoint.starts_with("/tools/messages?sessionId="));
    CHECK(client.say(initialize) == 202);
    CHECK(client.hear().at("result").at("protocolVersion") == "2024-11-05");
}

TEST_CASE("behind a proxy the endpoint of /sse has the prefix that it tells, and is relative where it tells none")
{
    http_fixture server;
    const auto endpoint = [&](std::string_view fields) { return sse_client(server, fields).endpoint; };
    CHECK(
        endpoint("X-Forwarded-Prefix: /a/b/\r\nX-Forwarded-For: 10.0.0.1\r\n").starts_with("/a/b/messages?sessionId="));
    CHECK(endpoint("X-Forwarded-Prefix: /\r\n").starts_with("/messages?sessionId="));
    for (const char* field : {"Forwarded: for=10.0.0.1", "X-Forwarded-For: 10.0.0.1", "X-Forwarded-Host: x.org",
                              "X-Forwarded-Proto: https", "X-Forwarded-Prefix: //evil.example", "X-Forwarded-Prefix: a",
                              "X-Forwarded-Prefix: /a?b=", "X-Forwarded-Prefix: /a b"}) {
        INFO(field);
        CHECK(endpoint(std::string(field) + "\r\n").starts_with("messages?sessionId="));
    }
}

TEST_CASE("with MCP_PUBLIC_URL the prefix is known behind a proxy that tells none")
{
    auto config = http_fixture::quick_settings();
    config.public_url = "https://example.org";
    http_fixture server(config);
    CHECK(sse_client(server, "X-Forwarded-For: 10.0.0.1\r\n").endpoint.starts_with("/messages?sessionId="));
}

TEST_CASE("calls of one stream run at the same time")
{
    http_fixture server;
    sse_client client(server);
    client.say(initialize);
    client.hear();
    client.say(call(1, "talk_and_wait"));
    CHECK(client.hear().at("method") == "notifications/test");
    client.say(call(2, "echo"));
    CHECK(client.hear().at("id") == 2);
    server.release();
    CHECK(client.hear().at("method") == "notifications/test");
    CHECK(client.hear().at("id") == 1);
}

TEST_CASE("closing the stream ends the session and its requests")
{
    http_fixture server;
    sse_client client(server);
    client.say(initialize);
    client.hear();
    client.say(call(1, "wait"));
    REQUIRE(eventually([&] { return server.probe().started == 1; }));
    client.stream.close();
    CHECK(eventually([&] { return server.probe().cancelled == 1; }));
    CHECK(eventually([&] { return client.say(call(2, "echo")) == 404; }));
    CHECK(server.health().at("sessions") == 0);
}

TEST_CASE("what is no JSON-RPC is refused on the POST")
{
    http_fixture server;
    sse_client client(server);
    CHECK(client.say("{") == 400);
    CHECK(client.say("[" + initialize + "]") == 400);
    CHECK(client.say(initialize) == 202);
}

TEST_CASE("the session of an SSE stream cannot be used at /mcp")
{
    http_fixture server;
    sse_client client(server);
    auto id = client.endpoint.substr(client.endpoint.find('=') + 1);
    CHECK(client.posts.request(post("/mcp", call(1, "echo"), in_session(id))).status == 404);
}

TEST_CASE("a silent SSE stream gets comments, and one that does not read is cut")
{
    auto config = http_fixture::quick_settings();
    config.keep_alive = 20ms;
    config.write_timeout = 100ms;
    http_fixture server(config);
    sse_client client(server);
    CHECK(client.stream.read_comment() == ": keep-alive");
    client.say(initialize);
    client.hear();
    client.say(call(1, "chat", R"({"count":5000,"size":10000})"));
    CHECK(eventually([&] { return server.probe().cancelled == 1; }));
    CHECK(eventually([&] { return server.health().at("sessions") == 0; }));
}
