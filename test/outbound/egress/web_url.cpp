#include "egress/web_url.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;

namespace {

std::string url_complaint(std::string_view text)
{
    try {
        web_url::parse(text);
    } catch (const bad_url& problem) {
        return problem.what();
    }
    return "taken";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a URL is brought into one form")
{
    CHECK(web_url::parse("https://Example.COM").text() == "https://example.com/");
    CHECK(web_url::parse("  http://example.com:80/a b?q=ü#teil 1\n").text() ==
          "http://example.com/a%20b?q=%C3%BC#teil%201");
    CHECK(web_url::parse("HTTP://example.com:8080?x").text() == "http://example.com:8080/?x");
    CHECK(web_url::parse("http://[::1]:8080/").authority() == "[::1]:8080");
    CHECK(web_url::parse("http://2130706433/").authority() == "127.0.0.1");
    CHECK(web_url::parse("http://example.com/100%?%zz").target == "/100%25?%25zz");
    CHECK(web_url::parse("https://example.com:443/").authority() == "example.com");
    CHECK(web_url::parse("http://example.com:443/").port == 443);
}

TEST_CASE("what cannot be fetched is refused with a sentence that says why")
{
    for (const char* url : {"file:///etc/passwd", "gopher://example.com/", "data:text/html,x", "javascript:alert(1)",
                            "about:blank", "ftp://example.com/", "unix:///var/run/docker.sock", "dict://127.0.0.1:11/",
                            "view-source:http://example.com/"}) {
        INFO(url);
        CHECK(contains(url_complaint(url), "only http:// and https:// can"));
    }
    CHECK(contains(url_complaint("http://user:pw@example.com/"), "user name or password"));
    CHECK(contains(url_complaint("http://user@example.com/"), "user name or password"));
    CHECK(contains(url_complaint("http://example.com\\@127.0.0.1/"), "user name or password"));
    CHECK(contains(url_complaint("http://example.com\\path/"), "backslash"));
    CHECK(contains(url_complaint("http:127.0.0.1/"), "must come //"));
    CHECK(contains(url_complaint("example.com/page"), "must begin with http:// or https://"));
    CHECK(contains(url_complaint(""), "is empty"));
    CHECK(contains(url_complaint("http://"), "names no host"));
    CHECK(contains(url_complaint("http:///path"), "names no host"));
    CHECK(contains(url_complaint("http://exa mple.com/"), "no host name has"));
    CHECK(contains(url_complaint("http://example.com:0/"), "is no port"));
    CHECK(contains(url_complaint("http://example.com:99999/"), "is no port"));
    CHECK(contains(url_complaint("http://example.com:8o/"), "is no port"));
    CHECK(contains(url_complaint("http://exam\tple.com/"), "control characters"));
    CHECK(contains(url_complaint("http://[::1/"), "the bracket before the IPv6 address is not closed"));
    CHECK(contains(url_complaint("http://example.com/" + std::string(20'000, 'a')), "16 KiB"));
}

TEST_CASE("a reference is resolved against the page it stands on")
{
    const auto base = web_url::parse("https://example.com/a/b?q#f");
    CHECK(base.follow("c").text() == "https://example.com/a/c");
    CHECK(base.follow("/c?d").text() == "https://example.com/c?d");
    CHECK(base.follow("../x").text() == "https://example.com/x");
    CHECK(base.follow("?y").text() == "https://example.com/a/b?y");
    CHECK(base.follow("#z").text() == "https://example.com/a/b?q#z");
    CHECK(base.follow("//other.example/x").text() == "https://other.example/x");
    CHECK(base.follow("http://other.example").text() == "http://other.example/");
    CHECK(base.follow("/ü b").text() == "https://example.com/%C3%BC%20b");
    CHECK_THROWS_AS(base.follow("javascript:alert(1)"), bad_url);
    CHECK_THROWS_AS(base.follow("file:///etc/passwd"), bad_url);
    CHECK_THROWS_AS(base.follow("//user:pw@other.example/"), bad_url);
}
