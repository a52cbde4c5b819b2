#include "test/inbound/transport/http_fixture.hpp"

#include "config/settings.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::test;
using namespace std::chrono_literals;

namespace {

const std::string ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";

std::string raw_post(const std::string& fields, const std::string& body)
{
    return "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + fields + "\r\n" + body;
}

}  // namespace

TEST_CASE("an error tells what to do in JSON and the connection goes on")
{
    http_fixture server;
    auto id = server.open_session();
    raw_client client(server.port());
    struct {
        std::string bytes;
        int status;
    } cases[] = {
        {get("/nothing"), 404},
        {get("/mcp"), 405},
        {get("/mcp", in_session("unknown")), 404},
        {"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 0},
        {"PUT /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 405},
        {"DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
        {"DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: x\r\n\r\n", 404},
        {"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403},
        {get("/healthz", "Origin: http://evil.example\r\n"), 403},
        {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", 415},
        {post("/mcp", ping, "Content-Encoding: gzip\r\n"), 415},
        {"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", 404},
        {post("/mcp", ping, "Accept: image/png\r\n"), 406},
        {post("/mcp", ping), 400},
        {post("/mcp", ping, in_session("unknown")), 404},
        {post("/mcp", "{", in_session(id)), 400},
        {post("/mcp", "[]", in_session(id)), 400},
        {post("/mcp", "", in_session(id)), 400},
        {post("/mcp", "[" + ping + "]", in_session(id)), 400},
        {post("/mcp", ping, in_session(id) + "MCP-Protocol-Version: 1999-01-01\r\n"), 400},
        {post("/mcp", ping, "MCP-Protocol-Version: 2026-07-28\r\n"), 400},
        {post("/messages", ping), 400},
        {post("/messages?sessionId=" + id, ping), 404},
    };
    for (const auto& each : cases) {
        if (each.status == 0) continue;
        INFO(each.bytes);
        auto answer = client.request(each.bytes);
        CHECK(answer.status == each.status);
        REQUIRE(answer.field("content-type") == "application/json");
        const auto body = answer.parsed().as_object();
        const bool on_mcp = each.bytes.find(" /healthz") == std::string::npos;
        CHECK(body.contains("jsonrpc") == on_mcp);
        const auto& sentence = on_mcp ? body.at("error").at("message") : body.at("error");
        CHECK_FALSE(sentence.as_string().empty());
    }
    CHECK(client.request(post("/mcp", ping, in_session(id))).status == 200);
    CHECK(client.request(get("/mcp")).field("allow").find("POST") != std::string::npos);
}

TEST_CASE("framing errors are answered once and end the connection")
{
    http_fixture server;
    struct {
        std::string bytes;
        int status;
    } cases[] = {
        {"POST /mcp HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 2\r\n\r\n{}", 400},
        {raw_post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nG"), 400},
        {raw_post("Content-Length: 2\r\nContent-Length: 40\r\n", "{}\r\nGET /x HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
        {raw_post("Content-Length: 2, 2\r\n", "{}"), 400},
        {raw_post("Content-Length: +2\r\n", "{}"), 400},
        {raw_post("Content-Length: 0x2\r\n", "{}"), 400},
        {raw_post("Content-Length: 18446744073709551618\r\n", "{}"), 400},
        {raw_post("Content-Length: 999999999999\r\n", "{}"), 413},
        {raw_post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"), 400},
        {raw_post("Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\n"), 400},
        {raw_post("X-A: 1\r\n folded\r\nContent-Length: 2\r\n", "{}"), 400},
        {"POST /mcp HTTP/1.1\nHost: localhost\n\n", 400},
        {"GET /healthz HTTP/9.9\r\nHost: localhost\r\n\r\n", 505},
        {"GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\n\r\n", 414},
        {raw_post("X-A: " + std::string(65'536, 'a') + "\r\nContent-Length: 2\r\n", "{}"), 431},
        {"CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\nGET /x HTTP/1.0\r\n\r\n", 405},
        {"GET ftp://127.0.0.1/x HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
        {"TRACE /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 405},
        {"\x16\x03\x01\x02", 400},
    };
    for (const auto& each : cases) {
        INFO(each.bytes.substr(0, 200));
        raw_client client(server.port());
        auto answer = client.request(each.bytes);
        CHECK(answer.status == each.status);
        CHECK(client.closed());
    }
}

TEST_CASE("a slow header and a slow body are cut off by one deadline each")
{
    auto config = http_fixture::quick_settings();
    config.header_timeout = 100ms;
    config.body_timeout = 100ms;
    http_fixture server(config);
    raw_client header(server.port());
    CHECK(header.request("POST /mcp HTTP/1.1\r\n").status == 408);
    CHECK(header.closed());
    raw_client body(server.port());
    CHECK(body.request(raw_post("Content-Length: 1000\r\n", "{")).status == 408);
    CHECK(body.closed());
    raw_client silent(server.port());
    CHECK(silent.closed());
}

TEST_CASE("an idle connection is closed after its time")
{
    auto config = http_fixture::quick_settings();
    config.idle_timeout = 50ms;
    http_fixture server(config);
    raw_client client(server.port());
    CHECK(client.request(get("/healthz")).status == 200);
    CHECK(client.closed());
}

TEST_CASE("bodies over the limit are refused, chunked ones too")
{
    auto config = http_fixture::quick_settings();
    config.max_body_bytes = 1000;
    http_fixture server(config);
    raw_client claimed(server.port());
    CHECK(claimed.request(raw_post("Content-Length: 1001\r\n", "")).status == 413);
    raw_client chunked(server.port());
    std::string chunks;
    for (int i = 0; i < 20; ++i) chunks += "64\r\n" + std::string(100, ' ') + "\r\n";
    CHECK(chunked.request(raw_post("Transfer-Encoding: chunked\r\n", chunks)).status == 413);
}

TEST_CASE("a chunked body is put together")
{
    http_fixture server;
    auto id = server.open_session();
    raw_client client(server.port());
    auto fields = in_session(id) + "Transfer-Encoding: chunked\r\n";
    auto answer = client.request(
        raw_post(fields, "5\r\n{\"jso\r\n23\r\nnrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\r\n0\r\n\r\n"));
    CHECK(answer.status == 200);
    CHECK(answer.parsed().at("id") == 7);
}

TEST_CASE("Expect: 100-continue is answered before the body is sent")
{
    http_fixture server;
    auto id = server.open_session();
    raw_client client(server.port());
    client.send(raw_post(
        in_session(id) + "Expect: 100-continue\r\nContent-Length: " + std::to_string(ping.size()) + "\r\n", ""));
    CHECK(client.read_head().status == 100);
    CHECK(client.request(ping).status == 200);
}

TEST_CASE("five hundred pipelined requests are answered in order")
{
    http_fixture server;
    auto id = server.open_session();
    raw_client client(server.port());
    std::string all;
    for (int i = 0; i < 500; ++i)
        all += post("/mcp", R"({"jsonrpc":"2.0","id":)" + std::to_string(i) + R"(,"method":"ping"})", in_session(id));
    std::thread sender([&] { client.send(all); });
    int in_order = 0;
    for (int i = 0; i < 500; ++i) in_order += client.read().parsed().at("id") == i ? 1 : 0;
    sender.join();
    CHECK(in_order == 500);
}

TEST_CASE("more connections than allowed are turned away with 503")
{
    auto config = http_fixture::quick_settings();
    config.max_connections = 2;
    http_fixture server(config);
    raw_client first(server.port());
    CHECK(first.request(get("/healthz")).status == 200);
    raw_client second(server.port());
    CHECK(second.request(get("/healthz")).status == 200);
    raw_client third(server.port());
    CHECK(third.read().status == 503);
    CHECK(third.closed());
}

TEST_CASE("health tells more when asked to")
{
    http_fixture server;
    server.open_session();
    raw_client client(server.port());
    auto plain = client.request(get("/healthz")).parsed();
    CHECK(plain.at("status") == "ok");
    CHECK(plain.as_object().size() == 2);
    auto verbose = server.health();
    CHECK(verbose.at("sessions") == 1);
    CHECK(verbose.at("layers").is_array());
    CHECK(client.request("HEAD /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n").status == 0 + 200);
}

TEST_CASE("an allowed origin is told so, and may ask first")
{
    http_fixture server;
    raw_client client(server.port());
    auto answer = client.request(
        "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:6274\r\n"
        "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: mcp-param-a\r\n\r\n");
    CHECK(answer.status == 204);
    CHECK(answer.field("access-control-allow-origin") == "http://localhost:6274");
    CHECK(answer.field("cross-origin-resource-policy") == "same-origin");
    CHECK(answer.field("access-control-allow-headers").find("mcp-session-id") != std::string::npos);
    CHECK(answer.field("access-control-allow-headers").find("mcp-param-a") != std::string::npos);
}
