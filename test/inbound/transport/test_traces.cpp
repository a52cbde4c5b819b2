#include "test/inbound/transport/http_fixture.hpp"
#include "test/support/log_lines.hpp"

#include "config/settings.hpp"
#include "log/request_id.hpp"

#include <mutex>

using namespace cmcp;
using namespace cmcp::test;

namespace {

// The server writes the line of a request after its answer, so the test waits for it.
json::object line_with(const log_lines& log, std::string_view event, const std::string& id)
{
    json::object result;
    eventually([&] {
        for (auto& line : log.of(event))
            if (member_text(line, "request") == id) result = std::move(line);
        return !result.empty();
    });
    INFO(event << " of " << id << " in\n" << log.text());
    REQUIRE_FALSE(result.empty());
    return result;
}

std::string rest(std::string_view tool, std::string_view body, std::string_view extra = {})
{
    return post("/mcp/tools/" + std::string(tool), body, std::string(extra) + "User-Agent: curl/8\r\n");
}

settings with_alices_token()
{
    auto config = http_fixture::quick_settings();
    config.auth_tokens = {{"anna", "her-secret-token"}};
    return config;
}

std::string as_anna() { return "Authorization: Bearer her-secret-token\r\n"; }

}  // namespace

TEST_CASE("every answer carries the id under which the log has its request")
{
    log_lines log(log::level::debug);
    http_fixture server;
    const auto id = server.open_session();
    for (const auto& bytes :
         {post("/mcp", call(1, "echo"), in_session(id)), post("/mcp", call_2026(1, "echo"), headers_2026("echo")),
          rest("echo", "{}"), rest("echo", "{}", "Accept: text/event-stream\r\n")}) {
        INFO(bytes);
        const auto answer = request(server, bytes);
        REQUIRE(answer.status == 200);
        const auto name = answer.field("x-request-id");
        CHECK(log::is_plain_id(name));
        CHECK(line_with(log, "tool_call", name).at("tool") == "echo");
        CHECK(line_with(log, "http_request", name).at("status") == 200);
    }
    for (const auto& bytes :
         {get("/nothing"), post("/mcp", "{", in_session(id)), post("/mcp", "{}", "Content-Encoding: gzip\r\n"),
          get("/healthz"), std::string("OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")}) {
        INFO(bytes);
        CHECK(line_with(log, "http_request", request(server, bytes).field("x-request-id")).contains("status"));
    }
}

TEST_CASE("a call over HTTP+SSE has the id of the POST that brought it")
{
    log_lines log;
    http_fixture server;
    raw_client stream(server.port());
    stream.send(get("/sse"));
    CHECK_FALSE(stream.read_head().field("x-request-id").empty());
    const auto endpoint = stream.read_event().data;
    const auto path = endpoint.starts_with("/") ? endpoint : "/" + endpoint;
    request(
        server,
        post(
            path,
            R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"old","version":"1"}}})"));
    stream.read_event();
    const auto taken = request(server, post(path, call(1, "echo")));
    CHECK(taken.status == 202);
    stream.read_event();
    const auto line = line_with(log, "tool_call", taken.field("x-request-id"));
    CHECK(line.at("client") == "old");
    CHECK(member_text(line, "session").starts_with("s-"));
    CHECK(log.text().find(path.substr(path.find('=') + 1)) == std::string::npos);
}

TEST_CASE("all calls of a session have its tag in the log, which is not its id")
{
    log_lines log;
    http_fixture server;
    const auto id = server.open_session();
    const auto other = server.open_session();
    for (const auto& each : {id, id, other}) request(server, post("/mcp", call(1, "echo"), in_session(each)));
    eventually([&] { return log.of("tool_call").size() == 3; });
    const auto lines = log.of("tool_call");
    REQUIRE(lines.size() == 3);
    CHECK(lines[0].at("session") == lines[1].at("session"));
    CHECK(lines[0].at("session") != lines[2].at("session"));
    CHECK(log.text().find(id) == std::string::npos);
}

TEST_CASE("an id that the client sends is kept beside ours when it is well-formed")
{
    log_lines log;
    http_fixture server;
    const auto good = request(server, rest("echo", "{}", "X-Request-Id: trace.7_a-B\r\n")).field("x-request-id");
    CHECK(good != "trace.7_a-B");
    CHECK(line_with(log, "tool_call", good).at("client_request_id") == "trace.7_a-B");
    for (const auto& bad : {std::string("a b"), std::string(65, 'x'), std::string("a\"b")}) {
        const auto name = request(server, rest("echo", "{}", "X-Request-Id: " + bad + "\r\n")).field("x-request-id");
        CHECK_FALSE(line_with(log, "tool_call", name).contains("client_request_id"));
    }
}

TEST_CASE("a REST call that is refused before it runs leaves a line too")
{
    log_lines log;
    http_fixture server;
    const auto unknown = request(server, rest("no_such", "{}"));
    CHECK(unknown.status == 404);
    const auto line = line_with(log, "tool_call", unknown.field("x-request-id"));
    CHECK(line.at("cause") == "refused");
    CHECK(line.at("tool") == "no_such");
    CHECK(line.at("client") == "curl/8");
    const auto broken = request(server, rest("echo", "{"));
    CHECK(broken.status == 400);
    CHECK(line_with(log, "tool_call", broken.field("x-request-id")).at("cause") == "refused");
}

TEST_CASE("an internal error names the request on every way in")
{
    log_lines log;
    http_fixture server;
    const auto id = server.open_session();
    for (const auto& bytes : {post("/mcp", call(1, "broken"), in_session(id)),
                              post("/mcp", call_2026(1, "broken"), headers_2026("broken")), rest("broken", "{}")}) {
        const auto answer = request(server, bytes);
        CHECK(answer.body.find("(request " + answer.field("x-request-id") + "; the server's log has the reason)") !=
              std::string::npos);
        CHECK(answer.body.find("inner detail") == std::string::npos);
        CHECK(line_with(log, "request_failed", answer.field("x-request-id")).at("reason") == "inner detail");
    }
}

TEST_CASE("a refused login is a warning with peer, path and reason, without the token")
{
    log_lines log(log::level::warning);
    http_fixture server(with_alices_token());
    struct {
        std::string fields;
        std::string reason;
    } cases[] = {{"", "no token"},
                 {"Authorization: Bearer guessed-token\r\n", "The bearer token is not known here"},
                 {"Authorization: Basic eDp5\r\n", "no bearer token"}};
    for (const auto& each : cases) {
        const auto answer = request(server, post("/mcp?sessionId=a-secret", "{}", each.fields));
        CHECK(answer.status == 401);
        const auto line = line_with(log, "login_refused", answer.field("x-request-id"));
        CHECK(line.at("level") == "WARNING");
        CHECK(line.at("peer") == "127.0.0.1");
        CHECK(line.at("path") == "/mcp");
        CHECK(member_text(line, "reason").starts_with(each.reason));
    }
    CHECK(log.text().find("guessed-token") == std::string::npos);
    CHECK(log.text().find("a-secret") == std::string::npos);
    CHECK(request(server, post("/mcp/tools/echo", "{}", as_anna())).status == 200);
    CHECK(log.of("login_refused").size() == 3);
}

TEST_CASE("the principal of a token is in the line of its calls")
{
    log_lines log;
    http_fixture server(with_alices_token());
    const auto answer = request(server, rest("echo", "{}", as_anna()));
    CHECK(line_with(log, "tool_call", answer.field("x-request-id")).at("principal") == "anna");
    CHECK(log.text().find("her-secret-token") == std::string::npos);
}

TEST_CASE("a flood of refused logins leaves few lines, and at the end their count")
{
    log_lines log;
    constexpr std::size_t all = 300;
    {
        http_fixture server(with_alices_token());
        raw_client client(server.port());
        for (std::size_t i = 0; i < all; ++i) CHECK(client.request(post("/mcp/tools/echo", "{}")).status == 401);
    }
    std::size_t counted = log.of("login_refused").size();
    for (const auto& rest_of_second : log.of("login_refused_more"))
        counted += rest_of_second.at("count").to_number<std::size_t>();
    CHECK(counted == all);
    CHECK(log.of("login_refused").size() < all);
}

TEST_CASE("health says 503 with the reasons while the server is not ready, and liveness does not")
{
    auto reasons = std::make_shared<std::vector<std::string>>();
    std::mutex turn;
    http_fixture server(http_fixture::quick_settings(), [&]() -> awaitable<std::vector<std::string>> {
        std::lock_guard held(turn);
        return [](std::vector<std::string> now) -> awaitable<std::vector<std::string>> { co_return now; }(*reasons);
    });
    CHECK(request(server, get("/healthz")).status == 200);
    {
        std::lock_guard held(turn);
        *reasons = {"The disk is full: delete files."};
    }
    const auto unready = request(server, get("/healthz"));
    CHECK(unready.status == 503);
    CHECK(unready.parsed().at("status") == "unready");
    CHECK(unready.parsed().at("reasons").as_array().at(0) == "The disk is full: delete files.");
    CHECK(request(server, get("/healthz?verbose")).parsed().as_object().contains("layers"));
    CHECK(request(server, get("/livez")).status == 200);
    {
        std::lock_guard held(turn);
        reasons->clear();
    }
    CHECK(request(server, get("/healthz")).status == 200);
}

TEST_CASE("a balancer asks for health in HTTP/1.0 without a Host, with HEAD and without a token")
{
    http_fixture server(with_alices_token());
    for (const char* path : {"/healthz", "/livez"}) {
        const auto plain = request(server, std::string("GET ") + path + " HTTP/1.0\r\n\r\n");
        CHECK(plain.status == 200);
        CHECK(plain.parsed().at("status") == "ok");
        raw_client client(server.port());
        client.send(std::string("HEAD ") + path + " HTTP/1.0\r\n\r\n");
        CHECK(client.read_head().status == 200);
        CHECK(client.closed());
    }
}

TEST_CASE("with a star any page reads the answers")
{
    auto config = http_fixture::quick_settings();
    config.allowed_origins = {"*"};
    http_fixture server(config);
    const auto answer = request(server, rest("echo", "{}", "Origin: https://app.example.org\r\n"));
    CHECK(answer.status == 200);
    CHECK(answer.field("access-control-allow-origin") == "https://app.example.org");
    CHECK(answer.field("vary") == "Origin");
    const auto preflight = request(
        server,
        "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\nAccess-Control-Request-Method: POST\r\n\r\n");
    CHECK(preflight.status == 204);
    CHECK(preflight.field("access-control-allow-origin") == "null");
}
