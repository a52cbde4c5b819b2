#include "http/health.hpp"
#include "http/request_guard.hpp"

#include "test/support/catch.hpp"

using namespace cmcp;

namespace {

http_request good_post()
{
    http_request asked;
    asked.method = "POST";
    asked.path = "/mcp";
    asked.fields = {{"host", "127.0.0.1:8000"}, {"content-type", "application/json"}, {"content-length", "2"}};
    return asked;
}

int status_with(const settings& chosen, http_request asked)
{
    request_guard guard(chosen);
    auto refused = guard.check(asked);
    return refused ? refused->status : 0;
}

int status_with_field(const char* name, const char* value)
{
    auto asked = good_post();
    asked.fields.emplace_back(name, value);
    return status_with(settings(), asked);
}

}  // namespace

TEST_CASE("an ordinary request is admitted")
{
    CHECK(status_with(settings(), good_post()) == 0);
    CHECK(status_with_field("origin", "http://localhost:5173") == 0);
}

TEST_CASE("only names of this server are taken as Host")
{
    settings chosen;
    chosen.host = "192.0.2.7";
    chosen.allowed_hosts = {"mcp.example.org", "other.example.org:8443"};
    request_guard guard(chosen);
    for (auto good : {"localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:8000", "[::1]", "192.0.2.7:8000",
                      "mcp.example.org:443", "other.example.org:8443"})
        CHECK(guard.host_allowed(good));
    for (auto bad : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1:8000:1", "[::1",
                     "localhost:80a", "other.example.org:1", "127.0.0.2", "0.0.0.0"})
        CHECK_FALSE(guard.host_allowed(bad));
}

TEST_CASE("a wildcard listening address is no Host")
{
    settings chosen;
    chosen.host = "0.0.0.0";
    CHECK_FALSE(request_guard(chosen).host_allowed("0.0.0.0:8000"));
}

TEST_CASE("foreign origins are refused")
{
    settings chosen;
    chosen.allowed_origins = {"https://app.example.org"};
    request_guard guard(chosen);
    for (auto good : {"http://localhost", "https://127.0.0.1:3000", "http://[::1]:1", "https://app.example.org"})
        CHECK(guard.origin_allowed(good));
    for (auto bad : {"null", "", "http://evil.example", "http://127.0.0.1.evil.example:8000", "file://localhost",
                     "http://localhost@evil.example", "https://app.example.org.evil", "localhost"})
        CHECK_FALSE(guard.origin_allowed(bad));
    CHECK(status_with_field("origin", "null") == 403);
}

TEST_CASE("a star allows every origin, and its answers say so")
{
    settings chosen;
    chosen.allowed_origins = {"*"};
    request_guard guard(chosen);
    for (auto any : {"http://evil.example", "https://app.example.org:8443", "null", "http://localhost"})
        CHECK(guard.origin_allowed(any));
    auto asked = good_post();
    asked.fields.emplace_back("origin", "https://app.example.org");
    CHECK(status_with(chosen, asked) == 0);
    std::string lines;
    guard.share_with_origin(asked, lines);
    CHECK(lines.find("Access-Control-Allow-Origin: https://app.example.org\r\n") != std::string::npos);
    CHECK(lines.find("X-Request-Id") != std::string::npos);
    asked.fields.emplace_back("origin", "https://other.example.org");
    CHECK(status_with(chosen, asked) == 403);
}

TEST_CASE("a health probe of HTTP/1.0 needs no Host, and nothing else does without")
{
    router routes;
    add_health_routes(routes, {}, {});
    const auto status_of = [&routes](http_request request) {
        routes.place(request);
        return status_with(settings(), std::move(request));
    };
    http_request probe;
    probe.method = "GET";
    probe.version = 10;
    for (const char* path : {"/healthz", "/livez"}) {
        probe.path = path;
        CHECK(status_of(probe) == 0);
    }
    probe.version = 11;
    CHECK(status_of(probe) == 400);
    probe.version = 10;
    probe.path = "/mcp";
    CHECK(status_of(probe) == 400);
    probe.path = "/healthz";
    probe.query = "verbose";
    CHECK(status_of(probe) == 400);
    probe.query.clear();
    probe.fields = {{"host", "evil.example"}};
    CHECK(status_of(probe) == 403);
}

TEST_CASE("a preflight from a foreign origin gets no permission")
{
    auto asked = good_post();
    asked.method = "OPTIONS";
    asked.fields.emplace_back("origin", "http://evil.example");
    CHECK(status_with(settings(), asked) == 403);
    asked.fields.back().second = "http://localhost:3000";
    CHECK(status_with(settings(), asked) == 204);
}

TEST_CASE("framing that smuggles is refused and ends the connection")
{
    CHECK(status_with_field("host", "localhost") == 400);
    CHECK(status_with_field("content-length", "2") == 400);
    CHECK(status_with_field("transfer-encoding", "chunked") == 400);
    CHECK(status_with_field("expect", "200-maybe") == 417);
    auto asked = good_post();
    asked.fields[2].second = "+2";
    CHECK(status_with(settings(), asked) == 400);
    asked.fields[2] = {"transfer-encoding", "gzip, chunked"};
    CHECK(status_with(settings(), asked) == 400);
    asked = good_post();
    asked.path = "http://127.0.0.1/";
    CHECK(status_with(settings(), asked) == 400);
    asked.method = "TRACE";
    CHECK(status_with(settings(), asked) == 405);
}

TEST_CASE("bodies are JSON without an encoding")
{
    CHECK(status_with_field("content-encoding", "gzip") == 415);
    auto asked = good_post();
    asked.fields[1].second = "text/plain";
    CHECK(status_with(settings(), asked) == 415);
    asked.fields[1].second = "Application/JSON; charset=utf-8";
    CHECK(status_with(settings(), asked) == 0);
}

TEST_CASE("a bearer token names the principal")
{
    settings chosen;
    chosen.auth_tokens = {{"anna", "secret-one"}, {"ben", "secret-two"}};
    request_guard guard(chosen);
    auto asked = good_post();
    auto refused = guard.check(asked);
    REQUIRE(refused);
    CHECK(refused->status == 401);
    asked.fields.emplace_back("authorization", "Bearer secret-tw");
    CHECK(guard.check(asked)->status == 401);
    asked.fields.back().second = "bearer secret-two";
    CHECK_FALSE(guard.check(asked));
    CHECK(asked.principal == "ben");
}

TEST_CASE("a route says who may use it and which body it takes")
{
    router routes;
    const auto serve = [](exchange&) -> awaitable<> { co_return; };
    routes.add({.methods = {"GET", "POST"}, .path = "/private", .serve = serve, .body = route_body::json});
    routes.add({.methods = {"GET"}, .path = "/public", .serve = serve, .access = route_access::open});
    routes.add({.methods = {"GET"}, .path = "/alive", .serve = serve, .access = route_access::probe});
    routes.add({.methods = {"POST"}, .path = "/perhaps/*", .serve = serve, .body = route_body::optional_json});
    routes.add({.methods = {"POST"}, .path = "/bytes", .serve = serve, .body = route_body::streamed});
    settings closed;
    closed.auth_tokens = {{"anna", "secret"}};
    const auto status_of = [&](const settings& config, std::string method, std::string path, std::string query = {},
                               std::string type = {}, std::string length = "0") {
        http_request request;
        request.method = std::move(method);
        request.path = std::move(path);
        request.query = std::move(query);
        request.fields = {{"host", "localhost"}, {"content-length", length}};
        if (!type.empty()) request.fields.emplace_back("content-type", type);
        routes.place(request);
        return status_with(config, request);
    };
    CHECK(status_of(closed, "GET", "/private") == 401);
    CHECK(status_of(closed, "GET", "/public") == 0);
    CHECK(status_of(closed, "GET", "/public/") == 0);
    CHECK(status_of(closed, "GET", "/public", "a=b") == 0);
    CHECK(status_of(closed, "POST", "/public") == 401);
    CHECK(status_of(closed, "GET", "/alive") == 0);
    CHECK(status_of(closed, "GET", "/alive", "verbose") == 401);
    CHECK(status_of(closed, "GET", "/nothing") == 401);
    const settings open;
    CHECK(status_of(open, "POST", "/private") == 415);
    CHECK(status_of(open, "POST", "/private", {}, "application/json") == 0);
    CHECK(status_of(open, "POST", "/perhaps/one") == 0);
    CHECK(status_of(open, "POST", "/perhaps/one", {}, "text/plain", "2") == 415);
    CHECK(status_of(open, "POST", "/bytes", {}, "image/png", "2") == 0);
    CHECK(status_of(open, "POST", "/nothing", {}, "text/plain", "2") == 415);
}
