#include "test/inbound/transport/http_fixture.hpp"

#include "config/settings.hpp"
#include "test/support/catch.hpp"

#include <list>

using namespace cmcp;
using namespace cmcp::test;
using namespace std::chrono_literals;

namespace {

std::string figures(http_fixture& server)
{
    raw_client client(server.port());
    return client.request(get("/metrics")).body;
}

// The value of the line that begins with `name`; -1 when there is none.
double figure(http_fixture& server, const std::string& name)
{
    auto text = "\n" + figures(server);
    auto at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
}

std::string headers_of(const std::string& token, std::string_view tool)
{
    return headers_2026(tool) + "Authorization: Bearer " + token + "\r\n";
}

std::string large_call(int id) { return call_2026(id, "echo", R"({"text":")" + std::string(200'000, 'y') + "\"}"); }

std::string endpoint_of(raw_client& stream)
{
    stream.send(get("/sse"));
    stream.read_head();
    return stream.read_event().data;
}

}  // namespace

TEST_CASE("figures of requests, sessions and memory are served to Prometheus")
{
    http_fixture server;
    server.open_session();
    raw_client client(server.port());
    auto answer = client.request(get("/metrics"));
    CHECK(answer.status == 200);
    CHECK(answer.field("content-type") == "text/plain; version=0.0.4; charset=utf-8");
    CHECK(figure(server, "cmcp_sessions") == 1);
    CHECK(figure(server, R"(cmcp_http_requests_total{path="/mcp",status="200"})") >= 1);
    CHECK(figure(server, "cmcp_buffered_bytes_limit") > 0);
    CHECK(figure(server, "process_open_fds") > 0);
}

TEST_CASE("what a peer asks for does not become a label")
{
    http_fixture server;
    raw_client client(server.port());
    client.request(get("/no/such/path"));
    CHECK(figures(server).find("/no/such/path") == std::string::npos);
    CHECK(figure(server, R"(cmcp_http_requests_total{path="other",status="404"})") >= 1);
}

TEST_CASE("an overloaded server refuses calls with 503 and Retry-After but answers pings and health checks")
{
    auto config = http_fixture::quick_settings();
    config.shed_delay = -1ms;  // every delay is too long
    http_fixture server(config);
    raw_client client(server.port());
    auto refused = client.request(post("/mcp", call_2026(1, "echo"), headers_2026("echo")));
    CHECK(refused.status == 503);
    CHECK(refused.field("retry-after") == "1");
    CHECK(refused.parsed().at("error").at("code") == rpc_code::server_busy);
    CHECK(refused.parsed().at("id") == 1);
    CHECK(client.request(get("/healthz")).status == 200);

    raw_client stream(server.port());
    auto endpoint = endpoint_of(stream);
    raw_client poster(server.port());
    CHECK(poster.request(post(endpoint, R"({"jsonrpc":"2.0","id":2,"method":"ping"})")).status == 202);
    CHECK(stream.read_event().parsed().at("id") == 2);
}

TEST_CASE("clients that do not read hold no more memory than the server may use, and disturb nobody")
{
    auto config = http_fixture::quick_settings();
    config.memory_limit_bytes = 256 * 1024;
    config.write_timeout = 60s;
    http_fixture server(config);
    constexpr std::size_t message = 20'000;
    constexpr int clients = 6;
    std::list<raw_client> stuck;
    for (int i = 0; i < clients; ++i) {
        stuck.emplace_back(server.port(), 4096);
        stuck.back().send(post("/mcp", call_2026(1, "chat", R"({"count":100000,"size":20000})"), headers_2026("chat")));
    }
    REQUIRE(eventually([&] { return figure(server, "cmcp_buffered_bytes") >= 256 * 1024; }));
    for (int i = 0; i < 20; ++i)
        CHECK(figure(server, "cmcp_buffered_bytes") <= 256.0 * 1024 + clients * (message + 200));
    raw_client other(server.port());
    auto answer = other.request(post("/mcp", call_2026(2, "echo", R"({"text":"hi"})"), headers_2026("echo")));
    CHECK(answer.parsed().at("result").at("structuredContent").at("text") == "hi");

    auto large =
        post("/mcp", call_2026(3, "echo", R"({"text":")" + std::string(200'000, 'y') + "\"}"), headers_2026("echo"));
    // The server refuses as soon as the kernel's buffers for the other clients are full.
    CHECK(eventually([&] { return other.request(large).status == 503; }));
    stuck.clear();
    CHECK(eventually([&] { return figure(server, "cmcp_buffered_bytes") == 0; }));
    raw_client later(server.port());
    CHECK(later.request(large).status == 200);
}

TEST_CASE("clients of one principal that do not read leave memory to the others")
{
    auto config = http_fixture::quick_settings();
    config.memory_limit_bytes = 2 << 20;
    config.write_timeout = 60s;
    config.auth_tokens = {{"anna", "one"}, {"ben", "two"}};
    http_fixture server(config);
    const auto chat = call_2026(1, "chat", R"({"count":100000,"size":20000})");
    std::list<raw_client> stuck;
    for (int i = 0; i < 6; ++i) {
        stuck.emplace_back(server.port(), 4096);
        stuck.back().send(post("/mcp", chat, headers_of("one", "chat")));
    }
    raw_client annas(server.port());
    REQUIRE(eventually(
        [&] { return annas.request(post("/mcp", large_call(2), headers_of("one", "echo"))).status == 429; }));
    raw_client bens(server.port());
    CHECK(bens.request(post("/mcp", large_call(3), headers_of("two", "echo"))).status == 200);
    const auto short_chat = call_2026(4, "chat", R"({"count":20,"size":20000})");
    CHECK(bens.request(post("/mcp", short_chat, headers_of("two", "chat"))).status == 200);
    raw_client annas_next(server.port());  // a refusal of a large body ends its connection
    auto small = annas_next.request(post("/mcp", call_2026(5, "echo", R"({"text":"hi"})"), headers_of("one", "echo")));
    CHECK(small.parsed().at("result").at("structuredContent").at("text") == "hi");
}

TEST_CASE("a client that stops reading is cut after its time")
{
    auto config = http_fixture::quick_settings();
    config.write_timeout = 200ms;
    http_fixture server(config);
    raw_client stuck(server.port(), 4096);
    stuck.send(post("/mcp", call_2026(1, "chat", R"({"count":100000,"size":20000})"), headers_2026("chat")));
    CHECK(eventually([&] { return server.probe().started == 1; }));
    CHECK(eventually([&] { return figure(server, "cmcp_requests_in_flight") == 0; }));
}
