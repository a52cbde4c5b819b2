#include "test/transport/http_fixture.hpp"

#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::test;
using namespace std::chrono_literals;

namespace {

std::string text_of(const json::value& message) { return std::string(message.at("params").at("text").as_string()); }

}  // namespace

TEST_CASE("initialize makes a session whose id names the node and cannot be chosen by the client")
{
    gateways to;
    to.node = "box";
    http_fixture server(http_fixture::quick_settings(), {}, std::move(to));
    raw_client client(server.port());
    auto body =
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})";
    auto begun = client.request(post("/mcp", body, in_session("chosen-by-client")));
    CHECK(begun.status == 200);
    CHECK(handle_maker::node_of(begun.field("mcp-session-id")) == "box");
    CHECK(begun.parsed().at("result").at("protocolVersion") == "2025-06-18");
}

TEST_CASE("a failed initialize leaves no session")
{
    http_fixture server;
    auto failed = request(server, post("/mcp", R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{}})"));
    CHECK(failed.field("mcp-session-id").empty());
    CHECK(failed.parsed().as_object().contains("error"));
    CHECK(server.health().at("sessions") == 0);
}

TEST_CASE("a call that says nothing before its result is answered as JSON")
{
    http_fixture server;
    auto id = server.open_session();
    auto answer = request(server, post("/mcp", call(3, "echo", R"({"text":"hi"})"), in_session(id)));
    CHECK(answer.status == 200);
    CHECK(answer.field("content-type") == "application/json");
    CHECK(answer.parsed().at("result").at("structuredContent").at("text") == "hi");
}

TEST_CASE("a client that takes event streams only gets one")
{
    http_fixture server;
    auto id = server.open_session();
    raw_client client(server.port());
    client.send(post("/mcp", call(3, "echo"), in_session(id) + "Accept: text/event-stream\r\n"));
    CHECK(client.read_head().field("content-type") == "text/event-stream");
    CHECK(client.read_event().parsed().at("id") == 3);
    CHECK(client.read_event().ended);
}

TEST_CASE("a client that takes JSON only is spared the notifications")
{
    http_fixture server;
    auto id = server.open_session();
    auto fields = in_session(id) + "Accept: application/json\r\n";
    auto answer = request(server, post("/mcp", call(3, "chat", R"({"count":5,"size":300000})"), fields));
    CHECK(answer.parsed().at("id") == 3);
}

TEST_CASE("notifications are answered with 202 and nothing")
{
    http_fixture server;
    auto id = server.open_session();
    auto answer = request(
        server, post("/mcp", R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}})",
                     in_session(id)));
    CHECK(answer.status == 202);
    CHECK(answer.body.empty());
}

TEST_CASE("messages arrive while the call runs")
{
    http_fixture server;
    auto id = server.open_session();
    raw_client client(server.port());
    client.send(post("/mcp", call(3, "talk_and_wait"), in_session(id)));
    auto head = client.read_head();
    CHECK(head.field("content-type") == "text/event-stream");
    CHECK(head.field("cache-control") == "no-cache, no-transform");
    CHECK(head.field("x-accel-buffering") == "no");
    CHECK(text_of(client.read_event().parsed()) == "before");
    CHECK(server.probe().finished == 0);
    server.release();
    CHECK(text_of(client.read_event().parsed()) == "after");
    CHECK(client.read_event().parsed().at("id") == 3);
    CHECK(client.read_event().ended);
    CHECK(client.request(post("/mcp", call(4, "echo"), in_session(id))).status == 200);
}

TEST_CASE("a silent stream gets comments")
{
    auto config = http_fixture::quick_settings();
    config.keep_alive = 20ms;
    http_fixture server(config);
    auto id = server.open_session();
    raw_client client(server.port());
    client.send(post("/mcp", call(3, "wait"), in_session(id)));
    CHECK(client.read_head().field("content-type") == "text/event-stream");
    CHECK(client.read_comment() == ": keep-alive");
    CHECK(client.read_comment() == ": keep-alive");
    server.release();
    CHECK(client.read_event().parsed().at("id") == 3);
}

TEST_CASE("batches are for 2025-03-26 and their responses are gathered")
{
    http_fixture server;
    auto id = server.open_session("2025-03-26");
    auto body = "[" + call(1, "echo") + "," + call(2, "echo") + R"(,{"jsonrpc":"2.0","method":"notifications/x"}])";
    auto answer = request(server, post("/mcp", body, in_session(id)));
    CHECK(answer.status == 200);
    CHECK(answer.parsed().as_array().size() == 2);
    auto newer = server.open_session("2025-06-18");
    CHECK(request(server, post("/mcp", body, in_session(newer))).status == 400);
}

TEST_CASE("a deleted session is gone and its requests end")
{
    http_fixture server;
    auto id = server.open_session();
    raw_client waiting(server.port());
    waiting.send(post("/mcp", call(3, "wait"), in_session(id)));
    REQUIRE(eventually([&] { return server.probe().started == 1; }));
    CHECK(request(server, "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n" + in_session(id) + "\r\n").status == 204);
    CHECK(eventually([&] { return server.probe().cancelled == 1; }));
    CHECK(waiting.read().status == 202);
    CHECK(request(server, post("/mcp", call(4, "echo"), in_session(id))).status == 404);
}

TEST_CASE("an older revision's request runs on when its client leaves, and the missed events can be had")
{
    http_fixture server;
    auto id = server.open_session();
    std::string last;
    {
        raw_client client(server.port());
        client.send(post("/mcp", call(3, "talk_and_wait"), in_session(id)));
        client.read_head();
        last = client.read_event().id;
    }
    REQUIRE_FALSE(last.empty());
    auto other = request(server, post("/mcp", call(5, "chat", R"({"count":1,"size":10})"), in_session(id)));
    CHECK(other.status == 200);
    server.release();
    CHECK(eventually([&] { return server.probe().finished == 2; }));
    raw_client client(server.port());
    client.send(get("/mcp", in_session(id) + "Last-Event-ID: " + last + "\r\n"));
    CHECK(client.read_head().status == 200);
    CHECK(text_of(client.read_event().parsed()) == "after");
    CHECK(client.read_event().parsed().at("id") == 3);
    CHECK(client.read_event().ended);
}

TEST_CASE("a stream that is resumed while the request runs goes on live")
{
    http_fixture server;
    auto id = server.open_session();
    raw_client first(server.port());
    first.send(post("/mcp", call(3, "talk_and_wait"), in_session(id)));
    first.read_head();
    auto last = first.read_event().id;
    first.close();
    raw_client client(server.port());
    client.send(get("/mcp", in_session(id) + "Last-Event-ID: " + last + "\r\n"));
    CHECK(client.read_head().status == 200);
    server.release();
    CHECK(text_of(client.read_event().parsed()) == "after");
    CHECK(client.read_event().parsed().at("id") == 3);
    CHECK(client.read_event().ended);
}

TEST_CASE("an id of another session or nonsense replays nothing")
{
    http_fixture server;
    auto mine = server.open_session();
    auto theirs = server.open_session();
    request(server, post("/mcp", call(5, "chat", R"({"count":2,"size":10})"), in_session(theirs)));
    for (auto last : {"1-1", "7-1", "nonsense", "0-99999999999999999999"}) {
        raw_client client(server.port());
        client.send(get("/mcp", in_session(mine) + "Last-Event-ID: " + std::string(last) + "\r\n"));
        CHECK(client.read_head().status == 200);
        server.health();
    }
}

TEST_CASE("a second GET takes the place of the first")
{
    http_fixture server;
    auto id = server.open_session();
    raw_client first(server.port());
    first.send(get("/mcp", in_session(id)));
    CHECK(first.read_head().status == 200);
    raw_client second(server.port());
    second.send(get("/mcp", in_session(id)));
    CHECK(second.read_head().status == 200);
    CHECK(first.read_event().ended);
    auto deleted = request(server, "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n" + in_session(id) + "\r\n");
    CHECK(deleted.status == 204);
    CHECK(second.read_event().ended);
}

TEST_CASE("streams of 2025-11-25 begin with an id, and a call can send its client away to poll")
{
    http_fixture server;
    auto id = server.open_session("2025-11-25");
    raw_client client(server.port());
    client.send(post("/mcp", call(3, "poll"), in_session(id)));
    client.read_head();
    auto priming = client.read_event();
    CHECK_FALSE(priming.id.empty());
    CHECK(priming.data.empty());
    CHECK_FALSE(priming.retry.empty());
    auto before = client.read_event();
    CHECK(text_of(before.parsed()) == "before");
    CHECK(client.read_event().ended);
    CHECK(server.probe().finished == 0);
    server.release();
    raw_client again(server.port());
    again.send(get("/mcp", in_session(id) + "Last-Event-ID: " + before.id + "\r\n"));
    CHECK(again.read_head().status == 200);
    CHECK(text_of(again.read_event().parsed()) == "after");
    CHECK(again.read_event().parsed().at("id") == 3);
}

TEST_CASE("a 2025-11-25 call that is silent for long can be resumed before its first message")
{
    auto config = http_fixture::quick_settings();
    config.keep_alive = 50ms;
    http_fixture server(config);
    auto id = server.open_session("2025-11-25");
    raw_client client(server.port());
    client.send(post("/mcp", call(3, "wait"), in_session(id)));
    client.read_head();
    auto priming = client.read_event();
    client.close();
    server.release();
    raw_client again(server.port());
    again.send(get("/mcp", in_session(id) + "Last-Event-ID: " + priming.id + "\r\n"));
    again.read_head();
    CHECK(again.read_event().parsed().at("id") == 3);
    CHECK(again.read_event().ended);
}

TEST_CASE("a client that does not read is cut and its stream stays bounded")
{
    auto config = http_fixture::quick_settings();
    config.write_timeout = 100ms;
    config.event_log_bytes = 100'000;
    http_fixture server(config);
    auto id = server.open_session();
    raw_client client(server.port(), 4096);
    client.send(post("/mcp", call(3, "chat", R"({"count":3000,"size":10000})"), in_session(id)));
    REQUIRE(eventually([&] { return server.probe().sent > 10; }));
    // The full stream holds back the tool until the deadline cuts the client, and the tool then ends.
    CHECK(eventually([&] { return server.probe().finished == 1; }));
    CHECK(server.probe().sent == 3000);
    CHECK(eventually([&] { return server.health().at("connections") == 1; }));
}

TEST_CASE("sessions belong to the principal that made them")
{
    auto config = http_fixture::quick_settings();
    config.auth_tokens = {{"anna", "one"}, {"ben", "two"}};
    http_fixture server(config);
    auto body =
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})";
    auto begun = request(server, post("/mcp", body, "Authorization: Bearer one\r\n"));
    auto id = begun.field("mcp-session-id");
    REQUIRE(handle_maker::fits("ses", id));
    auto ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
    CHECK(request(server, post("/mcp", ping, in_session(id) + "Authorization: Bearer one\r\n")).status == 200);
    CHECK(request(server, post("/mcp", ping, in_session(id) + "Authorization: Bearer two\r\n")).status == 404);
    auto nobody = request(server, post("/mcp", ping, in_session(id)));
    CHECK(nobody.status == 401);
    CHECK(nobody.field("www-authenticate") == "Bearer");
    CHECK(request(server, get("/nothing")).status == 404);
}

TEST_CASE("a full server says when to come back")
{
    auto config = http_fixture::quick_settings();
    config.max_sessions_per_address = 1;
    http_fixture server(config);
    server.open_session();
    auto body =
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})";
    auto refused = request(server, post("/mcp", body));
    CHECK(refused.status == 429);
    CHECK_FALSE(refused.field("retry-after").empty());
}

TEST_CASE("idle sessions expire")
{
    auto config = http_fixture::quick_settings();
    config.session_timeout = 80ms;
    http_fixture server(config);
    auto id = server.open_session();
    CHECK(eventually([&] { return server.health().at("sessions") == 0; }));
    CHECK(request(server, post("/mcp", call(1, "echo"), in_session(id))).status == 404);
}
