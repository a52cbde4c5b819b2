#include "http/health.hpp"
#include "http/request_guard.hpp"
#include "http/route.hpp"
#include "http/signed_link.hpp"

#include "config/settings.hpp"
#include "test/support/catch.hpp"
#include "test/support/guarded.hpp"

using namespace cmcp;
using cmcp::test::guarded;

namespace {

http_request good_post()
{
    http_request request;
    request.method = "POST";
    request.path = "/mcp";
    request.fields = {{"host", "127.0.0.1:8000"}, {"content-type", "application/json"}, {"content-length", "2"}};
    return request;
}

int status_with(const settings& config, http_request request)
{
    guarded guard(config);
    auto refused = guard.admit(request);
    return refused ? refused->status : 0;
}

int status_with_field(const char* name, const char* value)
{
    auto request = good_post();
    request.fields.emplace_back(name, value);
    return status_with(settings(), request);
}

}  // namespace

TEST_CASE("an ordinary request is admitted")
{
    CHECK(status_with(settings(), good_post()) == 0);
    CHECK(status_with_field("origin", "http://localhost:8000") == 0);
}

TEST_CASE("only names of this server are taken as Host")
{
    settings config;
    config.host = "192.0.2.7";
    config.allowed_hosts = {"mcp.example.org", "other.example.org:8443"};
    guarded guard(config);
    for (auto good : {"localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:8000", "[::1]", "192.0.2.7:8000",
                      "mcp.example.org:443", "other.example.org:8443"})
        CHECK(guard.names().host_allowed(good));
    for (auto bad : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1:8000:1", "[::1",
                     "localhost:80a", "other.example.org:1", "127.0.0.2", "0.0.0.0"})
        CHECK_FALSE(guard.names().host_allowed(bad));
}

TEST_CASE("a wildcard listening address is no Host")
{
    settings config;
    config.host = "0.0.0.0";
    CHECK_FALSE(guarded(config).names().host_allowed("0.0.0.0:8000"));
}

TEST_CASE("foreign origins are refused")
{
    settings config;
    config.allowed_origins = {"https://app.example.org"};
    guarded guard(config);
    for (auto good :
         {"http://localhost:8000", "https://127.0.0.1:8000", "http://[::1]:8000", "https://app.example.org"})
        CHECK(guard.names().origin_allowed(good, "localhost:8000"));
    for (auto bad : {"null", "", "http://evil.example", "http://127.0.0.1.evil.example:8000", "file://localhost:8000",
                     "http://localhost@evil.example:8000", "https://app.example.org.evil", "localhost:8000"})
        CHECK_FALSE(guard.names().origin_allowed(bad, "localhost:8000"));
    CHECK(status_with_field("origin", "null") == 403);
}

TEST_CASE("a page of another port of this machine is refused unless it is listed")
{
    settings config;
    for (auto bad : {"http://localhost:3000", "http://127.0.0.1:3000", "http://localhost", "https://[::1]"})
        CHECK_FALSE(guarded(config).names().origin_allowed(bad, "127.0.0.1:8000"));
    for (auto inspector : {"http://localhost:6274", "http://127.0.0.1:6274"})
        CHECK(guarded(config).names().origin_allowed(inspector, "127.0.0.1:8000"));
    config.allowed_origins = {"http://localhost:3000"};
    CHECK(guarded(config).names().origin_allowed("http://localhost:3000", "127.0.0.1:8000"));
    CHECK_FALSE(guarded(config).names().origin_allowed("http://localhost:6274", "127.0.0.1:8000"));
    auto request = good_post();
    request.fields.emplace_back("origin", "http://localhost:5173");
    const auto refused = guarded(config).admit(request);
    REQUIRE(refused);
    CHECK(refused->status == 403);
    CHECK(refused->problem.find("add http://localhost:5173 to MCP_ALLOWED_ORIGINS") != std::string::npos);
}

TEST_CASE("the server's own pages may call it by the name they were loaded from")
{
    settings config;
    config.host = "192.0.2.7";
    config.allowed_hosts = {"mcp.example.org"};
    const guarded guard(config);
    CHECK(guard.names().origin_allowed("https://mcp.example.org", "mcp.example.org"));
    CHECK(guard.names().origin_allowed("https://mcp.example.org", "mcp.example.org:443"));
    CHECK(guard.names().origin_allowed("http://192.0.2.7:8000", "192.0.2.7:8000"));
    CHECK_FALSE(guard.names().origin_allowed("https://mcp.example.org", "localhost"));
    CHECK_FALSE(guard.names().origin_allowed("https://mcp.example.org:444", "mcp.example.org"));
    CHECK_FALSE(guard.names().origin_allowed("http://localhost:8000", "192.0.2.7:8000"));
}

TEST_CASE("MCP_PUBLIC_URL names a Host and an origin of the server's own")
{
    settings config;
    config.public_url = "https://Tools.example.org:8443/mcp";
    const guarded guard(config);
    CHECK(guard.names().host_allowed("tools.example.org:8443"));
    CHECK(guard.names().origin_allowed("https://tools.example.org:8443", "tools.example.org:8443"));
    CHECK_FALSE(guard.names().origin_allowed("http://tools.example.org:8443", "attacker.example"));
    CHECK_FALSE(guard.names().origin_allowed("https://attacker.example", "tools.example.org:8443"));
    CHECK_FALSE(guard.names().host_allowed("example.org"));
}

TEST_CASE("a star among the Hosts lets no page rebind its name to this server")
{
    settings config;
    config.allowed_hosts = {"*"};
    CHECK(guarded(config).names().host_allowed("evil.example:8000"));
    CHECK_FALSE(guarded(config).names().host_allowed("evil.example:8000:1"));
    CHECK_FALSE(guarded(config).names().origin_allowed("http://evil.example:8000", "evil.example:8000"));
}

TEST_CASE("what a page of another site loads is refused, and a link that is followed is not")
{
    const auto status_of = [](const char* method, const char* site, const char* mode, const char* destination,
                              const char* origin = nullptr) {
        auto request = good_post();
        request.method = method;
        request.fields.emplace_back("sec-fetch-site", site);
        request.fields.emplace_back("sec-fetch-mode", mode);
        request.fields.emplace_back("sec-fetch-dest", destination);
        if (origin != nullptr) request.fields.emplace_back("origin", origin);
        return status_with(settings(), request);
    };
    for (auto site : {"cross-site", "same-site", "elsewhere", ""}) {
        CHECK(status_of("GET", site, "no-cors", "image") == 403);
        CHECK(status_of("GET", site, "navigate", "iframe") == 403);
        CHECK(status_of("POST", site, "navigate", "document") == 403);
        CHECK(status_of("GET", site, "navigate", "document") == 0);
        CHECK(status_of("POST", site, "cors", "empty", "http://localhost:6274") == 0);
        CHECK(status_of("POST", site, "cors", "empty", "http://localhost:3000") == 403);
    }
    for (auto site : {"same-origin", "none"}) CHECK(status_of("POST", site, "cors", "empty") == 0);
}

TEST_CASE("a star allows every origin, and its answers say so")
{
    settings config;
    config.allowed_origins = {"*"};
    guarded guard(config);
    for (auto any : {"http://evil.example", "https://app.example.org:8443", "null", "http://localhost"})
        CHECK(guard.names().origin_allowed(any, "localhost"));
    auto request = good_post();
    request.fields.emplace_back("origin", "https://app.example.org");
    CHECK(status_with(config, request) == 0);
    std::string lines;
    guard.names().share_with_origin(request, lines);
    CHECK(lines.find("Access-Control-Allow-Origin: https://app.example.org\r\n") != std::string::npos);
    CHECK(lines.find("X-Request-Id") != std::string::npos);
    request.fields.emplace_back("origin", "https://other.example.org");
    CHECK(status_with(config, request) == 403);
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
    auto request = good_post();
    request.method = "OPTIONS";
    request.fields.emplace_back("origin", "http://evil.example");
    CHECK(status_with(settings(), request) == 403);
    request.fields.back().second = "http://localhost:3000";
    CHECK(status_with(settings(), request) == 403);
    request.fields.back().second = "http://localhost:6274";
    CHECK(status_with(settings(), request) == 204);
}

TEST_CASE("a page may send what programs send with a call")
{
    auto request = good_post();
    request.method = "OPTIONS";
    request.fields.emplace_back("origin", "http://localhost:6274");
    request.fields.emplace_back("access-control-request-headers",
                                "dpop, mcp-param-x,X-Requested-With ,cache-control,,a b, x\xc3\xa9");
    const auto reply = guarded(settings()).admit(request);
    REQUIRE(reply);
    std::string allowed;
    for (const auto& [name, value] : reply->fields)
        if (name == "Access-Control-Allow-Headers") allowed = ", " + value + ",";
    for (const auto* name : {"dpop", "traceparent", "tracestate", "baggage", "authorization", "last-event-id",
                             "mcp-param-x", "X-Requested-With", "cache-control"})
        CHECK(allowed.find(std::string(", ") + name + ",") != std::string::npos);
    CHECK(allowed.find("a b") == std::string::npos);
    CHECK(allowed.find('\xc3') == std::string::npos);
    CHECK(allowed.find("dpop") == allowed.rfind("dpop"));
}

TEST_CASE("framing that smuggles is refused and ends the connection")
{
    CHECK(status_with_field("host", "localhost") == 400);
    CHECK(status_with_field("content-length", "2") == 400);
    CHECK(status_with_field("transfer-encoding", "chunked") == 400);
    CHECK(status_with_field("expect", "200-maybe") == 417);
    auto request = good_post();
    request.fields[2].second = "+2";
    CHECK(status_with(settings(), request) == 400);
    request.fields[2] = {"transfer-encoding", "gzip, chunked"};
    CHECK(status_with(settings(), request) == 400);
    request = good_post();
    request.path = "http://127.0.0.1/";
    CHECK(status_with(settings(), request) == 400);
    request.method = "TRACE";
    CHECK(status_with(settings(), request) == 405);
}

TEST_CASE("bodies are JSON without an encoding")
{
    CHECK(status_with_field("content-encoding", "gzip") == 415);
    auto request = good_post();
    request.fields[1].second = "text/plain";
    CHECK(status_with(settings(), request) == 415);
    request.fields[1].second = "Application/JSON; charset=utf-8";
    CHECK(status_with(settings(), request) == 0);
}

TEST_CASE("a bearer token names the principal")
{
    settings config;
    config.auth_tokens = {{"anna", "secret-one"}, {"ben", "secret-two"}};
    guarded guard(config);
    auto request = good_post();
    auto refused = guard.admit(request);
    REQUIRE(refused);
    CHECK(refused->status == 401);
    request.fields.emplace_back("authorization", "Bearer secret-tw");
    CHECK(guard.admit(request)->status == 401);
    request.fields.back().second = "bearer secret-two";
    CHECK_FALSE(guard.admit(request));
    CHECK(request.principal == "ben");
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

TEST_CASE("a signed link stands for its owner's token")
{
    settings config;
    config.auth_tokens = {{"ann", "token of ann"}, {"bob", "token of bob"}};
    config.link_key = "the key of this server";
    const guarded guard(config);
    route files;
    files.signed_links = true;
    constexpr std::int64_t never = 253'402'300'799;
    const std::string file = "sandbox_id=sbx_1&file_path=/app/results/a%20b.png";
    const auto query_of = [&](std::int64_t expires) {
        return file + signed_query({"sbx_1", "/app/results/a b.png", expires}, "bob", config.link_key, false);
    };
    const auto asks = [&](std::string method, std::string query, route& target) {
        http_request request;
        request.method = std::move(method);
        request.path = "/sandbox/file";
        request.query = std::move(query);
        request.fields = {{"host", "127.0.0.1:8000"}};
        request.target = &target;
        return request;
    };
    auto request = asks("GET", query_of(never), files);
    CHECK_FALSE(guard.admit(request));
    CHECK(request.principal == "bob");
    CHECK(status_with(config, asks("HEAD", query_of(never), files)) == 0);

    CHECK(status_with(config, asks("GET", query_of(1), files)) == 403);
    CHECK(status_with(config, asks("POST", query_of(never), files)) == 401);
    CHECK(status_with(config, asks("GET", file, files)) == 401);
    route others;
    CHECK(status_with(config, asks("GET", query_of(never), others)) == 401);
    for (const auto& [from, to] :
         {std::pair("sbx_1", "sbx_2"), std::pair("a%20b", "c"), std::pair("expires=2", "expires=3"),
          std::pair("signature=", "signature=0"), std::pair("results/", "results//")}) {
        std::string changed = query_of(never);
        changed.replace(changed.find(from), std::string_view(from).size(), to);
        CHECK(status_with(config, asks("GET", changed, files)) == 403);
    }
    auto with_token = asks("GET", query_of(1), files);
    with_token.fields.emplace_back("authorization", "Bearer token of ann");
    CHECK_FALSE(guard.admit(with_token));
    CHECK(with_token.principal == "ann");

    settings other_key = config;
    other_key.link_key = "of another server";
    CHECK(status_with(other_key, asks("GET", query_of(never), files)) == 403);
    settings without_bob = config;
    without_bob.auth_tokens.pop_back();
    CHECK(status_with(without_bob, asks("GET", query_of(never), files)) == 403);
}

TEST_CASE("credentials that this server takes are known in whatever scheme they come, and others are not")
{
    settings config;
    config.auth_tokens = {{"anna", "a-token-of-anna"}};
    guarded guard(config);
    const auto is_own = [&guard](std::vector<const char*> values) {
        http_request request;
        for (const char* value : values) request.fields.emplace_back("authorization", value);
        return guard.brings_own(request);
    };
    CHECK(is_own({"Bearer a-token-of-anna"}));
    CHECK(is_own({"bearer   a-token-of-anna"}));
    CHECK(is_own({"token a-token-of-anna"}));
    CHECK(is_own({"a-token-of-anna"}));
    CHECK(is_own({"Basic YW5uYTphLXRva2VuLW9mLWFubmE="}));  // anna:a-token-of-anna
    CHECK(is_own({"Basic YS10b2tlbi1vZi1hbm5hOg=="}));      // a-token-of-anna:
    CHECK(is_own({"Basic YS10b2tlbi1vZi1hbm5hOg"}));        // as much for who decodes leniently
    CHECK(is_own({"Bearer of-the-program", "Bearer a-token-of-anna"}));
    for (const char* other : {"Bearer of-the-program", "Basic dXNlcjpwYXNz", "Basic no base64",
                              "Digest username=\"anna\"", "Bearer a-token-of-ann", "", " "})
        CHECK_FALSE(is_own({other}));
    CHECK_FALSE(is_own({}));
    config.auth_introspection_url = "https://login.example/introspect";
    guarded asking(config);
    http_request request;
    request.fields.emplace_back("authorization", "Bearer of-whom-nobody-knows");
    CHECK(asking.brings_own(request));
}
