#include "web/cookie_jar.hpp"

#include "test/support/catch.hpp"

#include <chrono>
#include <string>
#include <vector>

using namespace cmcp;

namespace {

const auto now = cookie_jar::clock::time_point(std::chrono::hours(24 * 365 * 50));

std::string sent(std::string_view from, std::vector<std::string_view> fields, std::string_view to,
                 cookie_jar::clock::time_point at = now)
{
    cookie_jar jar;
    for (const auto field : fields) jar.take(web_url::parse(from), field, now);
    return jar.header_for(web_url::parse(to), at);
}

}  // namespace

TEST_CASE("cookies go back to their host and path, the longer path first")
{
    CHECK(sent("http://a.test/x/y", {"s=1; Path=/", "t=2", "u=3; path=/x/y"}, "http://a.test/x/y/z") ==
          "u=3; t=2; s=1");
    CHECK(sent("http://a.test/x/y", {"t=2"}, "http://a.test/x") == "t=2");
    CHECK(sent("http://a.test/x/y", {"t=2"}, "http://a.test/xy").empty());
    CHECK(sent("http://a.test:81/", {"t=2"}, "http://a.test:82/") == "t=2");
    CHECK(sent("http://a.test/", {"t=\"q=1\""}, "http://a.test/") == "t=\"q=1\"");
    CHECK(sent("http://a.test/", {"t=2"}, "http://b.a.test/").empty());
    CHECK(sent("http://a.test/", {"t=2"}, "http://other.test/").empty());
    CHECK(sent("http://a.test/", {"no cookie", "=x", ""}, "http://a.test/").empty());
}

TEST_CASE("a cookie for a domain reaches its hosts, but none is taken for another's or for a public suffix")
{
    CHECK(sent("http://www.shop.example/", {"t=2; Domain=.shop.example"}, "http://api.shop.example/") == "t=2");
    CHECK(sent("http://www.shop.example/", {"t=2; Domain=SHOP.example"}, "http://shop.example/") == "t=2");
    CHECK(sent("http://www.shop.example/", {"t=2; Domain=shop.example"}, "http://badshop.example/").empty());
    for (const char* domain : {"example", "other.example", "www.other.example", "a.www.shop.example", "com"}) {
        const std::string field = std::string("t=2; Domain=") + domain;
        CHECK(sent("http://www.shop.example/", {field}, "http://www.shop.example/").empty());
    }
    CHECK(sent("http://www.shop.co.uk/", {"t=2; Domain=co.uk"}, "http://www.shop.co.uk/").empty());
    CHECK(sent("http://127.0.0.1/", {"t=2; Domain=0.0.1"}, "http://127.0.0.1/").empty());
    CHECK(sent("http://127.0.0.1/", {"t=2; Domain=127.0.0.1"}, "http://127.0.0.1/") == "t=2");
}

TEST_CASE("secure cookies stay within TLS, and what has ended is not sent")
{
    CHECK(sent("https://a.test/", {"t=2; Secure"}, "https://a.test/") == "t=2");
    CHECK(sent("https://a.test/", {"t=2; Secure"}, "http://a.test/").empty());
    CHECK(sent("http://a.test/", {"t=2; Secure"}, "https://a.test/").empty());
    CHECK(sent("https://a.test/", {"__Host-t=2; Secure; Path=/x"}, "https://a.test/x").empty());
    CHECK(sent("https://a.test/", {"__Host-t=2; Secure; Path=/"}, "https://a.test/x") == "__Host-t=2");
    CHECK(sent("http://a.test/", {"t=2", "t=; Max-Age=0"}, "http://a.test/").empty());
    CHECK(sent("http://a.test/", {"t=2; Max-Age=-5; Expires=Wed, 09 Jun 2100 10:18:14 GMT"}, "http://a.test/").empty());
    CHECK(sent("http://a.test/", {"t=2; Expires=Wed, 09 Jun 1999 10:18:14 GMT"}, "http://a.test/").empty());
    CHECK(sent("http://a.test/", {"t=2; Expires=Wednesday, 09-Jun-99 10:18:14 GMT"}, "http://a.test/").empty());
    CHECK(sent("http://a.test/", {"t=2; Expires=Wed Jun  9 10:18:14 2100"}, "http://a.test/") == "t=2");
    CHECK(sent("http://a.test/", {"t=2; Expires=Thu, 31 Dec 9998 23:59:59 GMT"}, "http://a.test/") == "t=2");
    CHECK(sent("http://a.test/", {"t=2; Expires=soon"}, "http://a.test/") == "t=2");
    CHECK(sent("http://a.test/", {"t=2; Max-Age=10"}, "http://a.test/", now + std::chrono::seconds(11)).empty());
}
