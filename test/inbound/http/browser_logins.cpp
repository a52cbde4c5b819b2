#include "http/browser_logins.hpp"

#include "config/settings.hpp"
#include "http/cookies.hpp"
#include "http/endpoint_address.hpp"
#include "test/support/catch.hpp"

#include <string>
#include <utility>
#include <vector>

namespace cmcp {

namespace {

using header_fields = std::vector<std::pair<std::string_view, std::string_view>>;

http_request from_browser(header_fields sent, bool secure = false)
{
    http_request request;
    request.fields = std::move(sent);
    request.secure = secure;
    return request;
}

std::string cookie_in_line(const std::string& line) { return line.substr(0, line.find(';')); }

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// A browser that keeps the cookie of the last answer.
struct browser {
    browser_logins& logins;
    std::string host = "localhost:8000";
    bool secure = false;
    std::string cookie{};

    http_request request() const { return from_browser({{"host", host}, {"cookie", cookie}}, secure); }
    std::string log_in(std::string token)
    {
        const auto line = logins.begin(request(), std::move(token));
        cookie = cookie_in_line(line);
        return line;
    }
    const browser_logins::entry* session() const { return logins.find(request()); }
};

}  // namespace

TEST_CASE("a browser that has logged in is known by its cookie alone, and has a text of its own against forgery")
{
    const settings config;
    browser_logins logins(config);
    browser one{logins}, other{logins}, nobody{logins};
    one.log_in("first");
    other.log_in("second");
    REQUIRE(one.session() != nullptr);
    CHECK(one.session()->token == "first");
    CHECK(other.session()->token == "second");
    CHECK(one.session()->csrf.size() == 64);
    CHECK(one.session()->csrf != other.session()->csrf);
    CHECK(nobody.session() == nullptr);
    nobody.cookie = one.cookie.substr(0, one.cookie.size() - 1) + "x";
    CHECK(nobody.session() == nullptr);
    nobody.cookie = "a=b; " + one.cookie + "; c=d";
    CHECK(nobody.session() == one.session());
    CHECK_FALSE(holds(one.cookie, "first"));
}

TEST_CASE("no script reads the cookie, no other site sends it, and with TLS no other host sets it")
{
    const settings config;
    browser_logins logins(config);
    browser plain{logins}, secure{logins, "mcp.example.org", true};
    const auto open = plain.log_in("t"), closed = secure.log_in("t");
    for (const auto* part : {"; Path=/;", "; HttpOnly;", "; SameSite=Strict;", "; Max-Age=43200"}) {
        CHECK(holds(open, part));
        CHECK(holds(closed, part));
    }
    CHECK_FALSE(holds(open, "Secure"));
    CHECK(closed.starts_with("__Host-"));
    CHECK(closed.ends_with("; Secure"));
    CHECK_FALSE(holds(open, "Domain"));
    secure.secure = false;
    CHECK(secure.session() == nullptr);
}

TEST_CASE("a login begins with a fresh cookie and ends the one before, so nobody can fix it from outside")
{
    const settings config;
    browser_logins logins(config);
    browser victim{logins}, attacker{logins};
    attacker.log_in("of the attacker");
    victim.cookie = attacker.cookie;
    victim.log_in("of the victim");
    CHECK(victim.cookie != attacker.cookie);
    CHECK(attacker.session() == nullptr);
    CHECK(victim.session()->token == "of the victim");
    const auto line = logins.end(victim.request());
    CHECK(holds(line, "Max-Age=0"));
    CHECK(victim.session() == nullptr);
}

TEST_CASE("servers on one host have cookies of different names")
{
    settings config;
    browser_logins logins(config);
    browser one{logins, "localhost:8000"}, other{logins, "localhost:8001"};
    one.log_in("t");
    other.log_in("t");
    const auto name = [](const browser& of) { return of.cookie.substr(0, of.cookie.find('=')); };
    CHECK(name(one) != name(other));
    const auto behind = [&](std::string_view prefix) {
        const auto line = logins.begin(from_browser({{"host", "h"}, {"x-forwarded-prefix", prefix}}), "t");
        return line.substr(0, line.find('='));
    };
    CHECK(behind("/a") != behind("/b"));
}

TEST_CASE("a login that nobody uses for twelve hours has ended, and ten thousand are the most")
{
    const settings config;
    auto now = browser_logins::clock::now();
    browser_logins logins(config, [&now] { return now; });
    browser first{logins}, last{logins};
    first.log_in("t");
    now += std::chrono::hours(11);
    CHECK(first.session() != nullptr);
    now += std::chrono::hours(11);
    CHECK(first.session() != nullptr);
    now += std::chrono::hours(12);
    CHECK(first.session() == nullptr);

    first.log_in("t");
    for (std::size_t i = 0; i != browser_logins::most; ++i) {
        now += std::chrono::milliseconds(1);
        last.cookie.clear();
        last.log_in("t");
    }
    CHECK(first.session() == nullptr);
    CHECK(last.session() != nullptr);
}

TEST_CASE("a cookie is found by its whole name")
{
    const auto value = [](std::string_view cookies, std::string_view name) {
        return std::string(cookie_in(from_browser({{"cookie", cookies}}), name));
    };
    CHECK(value("a=1; b=2", "b") == "2");
    CHECK(value("ab=1;b=2", "b") == "2");
    CHECK(value(" b=x=y ", "b") == "x=y");
    CHECK(value("ba=1", "b").empty());
    CHECK(value("b", "b").empty());
    CHECK(cookie_in(from_browser({}), "b").empty());
}

TEST_CASE("a proxy that nobody has named speaks https where MCP_PUBLIC_URL says so for this Host")
{
    settings config;
    config.public_url = "https://mcp.example.org/tools";
    const auto secure = [&](std::string_view host) { return is_secure(from_browser({{"host", host}}), config); };
    CHECK(secure("mcp.example.org"));
    CHECK(secure("MCP.example.org"));
    CHECK_FALSE(secure("localhost:8000"));
    CHECK_FALSE(secure("mcp.example.org:8000"));
    config.public_url = "http://mcp.example.org";
    CHECK_FALSE(secure("mcp.example.org"));
    CHECK(is_secure(from_browser({}, true), config));
}

}  // namespace cmcp
