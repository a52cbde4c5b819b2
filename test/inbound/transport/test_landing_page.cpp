#include "config/settings.hpp"
#include "test/inbound/transport/http_fixture.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

const std::string browser_accept = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";

raw_response get_root(http_fixture& server, std::string_view host, const std::string& fields)
{
    return request(server, "GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n" + fields + "\r\n");
}

bool page_holds(const raw_response& answer, std::string_view part)
{
    return answer.body.find(part) != std::string::npos;
}

settings with_token()
{
    settings config = http_fixture::quick_settings();
    config.auth_tokens = {{"ann", "secret-of-ann"}};
    return config;
}

settings for_every_host()
{
    settings config = http_fixture::quick_settings();
    config.allowed_hosts = {"*"};
    return config;
}

}  // namespace

TEST_CASE("a browser at / gets a page with the address that it used, and nothing from elsewhere")
{
    http_fixture server;
    const auto answer = get_root(server, "localhost:8123", browser_accept);
    CHECK(answer.status == 200);
    CHECK(answer.field("content-type") == "text/html; charset=utf-8");
    CHECK(answer.field("content-security-policy").find("default-src 'none'") == 0);
    CHECK(page_holds(answer,
                     "claude mcp add --transport http container-mcp \"http://localhost:8123/mcp?profile=agent\""));
    CHECK(page_holds(answer, "http://localhost:8123/sse"));
    CHECK(page_holds(answer, "href=\"docs\""));
    CHECK(page_holds(answer, "Sessions"));
    CHECK_FALSE(page_holds(answer, "{{"));
    CHECK_FALSE(page_holds(answer, "src="));
    CHECK_FALSE(page_holds(answer, "YOUR_TOKEN"));
}

TEST_CASE("whoever is no browser finds nothing at /")
{
    http_fixture server;
    for (const char* accept : {"", "Accept: application/json, text/event-stream\r\n", "Accept: */*\r\n"}) {
        const auto answer = get_root(server, "localhost", accept);
        CHECK(answer.status == 404);
        CHECK(answer.parsed().as_object().contains("error"));
    }
    CHECK(request(server, post("/", "{}")).status == 404);
    CHECK(request(server,
                  "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n" +
                      browser_accept + "\r\n{}")
              .status == 404);
}

TEST_CASE("with tokens the page is open, says where a token goes, and tells nothing of what runs")
{
    http_fixture server(with_token());
    const auto answer = get_root(server, "localhost", browser_accept);
    CHECK(answer.status == 200);
    CHECK(page_holds(answer, "--header \"Authorization: Bearer YOUR_TOKEN\""));
    CHECK_FALSE(page_holds(answer, "Sessions"));
    CHECK_FALSE(page_holds(answer, "secret-of-ann"));
}

TEST_CASE("behind a proxy that is trusted the page names the address that the proxy tells")
{
    auto config = http_fixture::quick_settings();
    config.trusted_proxies = {"127.0.0.0/8"};
    const std::string fields = "X-Forwarded-Proto: https\r\nX-Forwarded-Host: mcp.example.org\r\n";
    {
        http_fixture other;
        CHECK(page_holds(get_root(other, "localhost", browser_accept + fields), "http://localhost/mcp"));
    }
    http_fixture trusting(config);
    const auto answer = get_root(trusting, "localhost", browser_accept + fields + "X-Forwarded-Prefix: /tools/\r\n");
    CHECK(page_holds(answer, "https://mcp.example.org/tools/mcp"));
}

TEST_CASE("nothing of a request becomes markup or a command on the page")
{
    http_fixture server(for_every_host());
    for (const char* host : {"a\"><script>alert(1)</script>", "x;reboot", "$(reboot)", "a'b"}) {
        const auto answer = get_root(server, host, browser_accept);
        INFO(host);
        CHECK(answer.status == 200);
        CHECK_FALSE(page_holds(answer, host));
        CHECK_FALSE(page_holds(answer, "<script"));
        CHECK(page_holds(answer, "http://127.0.0.1:"));
    }
    const auto prefixed = get_root(server, "localhost", browser_accept + "X-Forwarded-Prefix: /a\"><script>\r\n");
    CHECK_FALSE(page_holds(prefixed, "<script"));
}
