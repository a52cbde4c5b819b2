#include "http/trusted_proxies.hpp"

#include "http/forwarded_hops.hpp"
#include "test/support/catch.hpp"

#include <string>
#include <vector>

namespace cmcp {

namespace {

using fields = std::vector<std::pair<std::string_view, std::string_view>>;

http_request with(fields sent)
{
    http_request request;
    request.fields = std::move(sent);
    return request;
}

// "client scheme host" of each hop, divided by "|"; "refused".
std::string hops_in(const fields& sent)
{
    const auto hops = forwarded_hops_of(with(sent));
    if (!hops) return "refused";
    std::string text;
    for (const auto& hop : *hops) text += (text.empty() ? "" : "|") + hop.client + " " + hop.scheme + " " + hop.host;
    return text;
}

std::string forwarded(std::string_view value) { return hops_in({{"forwarded", value}}); }
std::string listed(std::string_view value) { return hops_in({{"x-forwarded-for", value}}); }

struct believed {
    std::string address;
    bool secure;
    std::string host;
};

believed asked(const std::vector<std::string>& trusted, const std::string& peer, const fields& sent)
{
    auto request = with(sent);
    request.address = peer;
    trusted_proxies(trusted).believe(request);
    return {request.address, request.secure, request.forwarded_host};
}

}  // namespace

TEST_CASE("Forwarded is read as RFC 7239 has it")
{
    CHECK(forwarded("for=192.0.2.43") == "192.0.2.43  ");
    CHECK(forwarded("For=\"[2001:db8:cafe::17]:4711\"") == "2001:db8:cafe::17  ");
    CHECK(forwarded("for=192.0.2.60;proto=HTTP;by=203.0.113.43;host=a.example") == "192.0.2.60 http a.example");
    CHECK(forwarded("for=192.0.2.43, for=198.51.100.17;proto=https") == "192.0.2.43  |198.51.100.17 https ");
    CHECK(forwarded("for=unknown , for=_hidden;host=\"b.example:8443\"") == "  |  b.example:8443");
    CHECK(forwarded("for=\"192.0.2.43:47011\"") == "192.0.2.43  ");
    CHECK(forwarded("for=\"192.0.2.43:_port\"") == "192.0.2.43  ");
    CHECK(forwarded("for=192.0.2.43;secret=\"a\\\"b,;\"") == "192.0.2.43  ");
    CHECK(hops_in({{"forwarded", "for=192.0.2.1"}, {"forwarded", "for=192.0.2.2"}}) == "192.0.2.1  |192.0.2.2  ");
}

TEST_CASE("Forwarded that breaks the rules is refused")
{
    for (const std::string bad : {"",
                                  " ",
                                  ",",
                                  "for",
                                  "for=",
                                  "for=;proto=http",
                                  "=1.2.3.4",
                                  "for=1.2.3.4;;proto=http",
                                  "for=1.2.3.4,",
                                  ",for=1.2.3.4",
                                  "for=1.2.3.4 proto=http",
                                  "for =1.2.3.4",
                                  "for= 1.2.3.4",
                                  "for=1.2.3.4;for=1.2.3.5",
                                  "for=\"1.2.3.4",
                                  "for=\"1.2.3.4\\",
                                  "for=[::1]",
                                  "for=\"[::1\"",
                                  "for=\"[1.2.3.4]\"",
                                  "for=\"::1%eth0\"",
                                  "for=1.2.3",
                                  "for=a.example",
                                  "proto=ftp",
                                  "proto=http;proto=https",
                                  "host=\"a b\"",
                                  "host=\"a/b\"",
                                  "host=\"<script>\"",
                                  "for=\"1.2.3.4:port\"",
                                  "for=\"1.2.3.4:123456\"",
                                  "for=\"\""}) {
        INFO(bad);
        CHECK(hops_in({{"forwarded", bad}}) == "refused");
    }
    std::string many = "for=1.2.3.4";
    for (int i = 0; i < 100; ++i) many += ",for=1.2.3.4";
    CHECK(forwarded(many) == "refused");
}

TEST_CASE("X-Forwarded-* are read as lists")
{
    CHECK(listed("192.0.2.1") == "192.0.2.1  ");
    CHECK(listed("192.0.2.1:80 ,\t2001:db8::1, [2001:db8::2]:443, unknown") ==
          "192.0.2.1  |2001:db8::1  |2001:db8::2  |  ");
    CHECK(hops_in({{"x-forwarded-for", "192.0.2.1"}, {"x-forwarded-for", "192.0.2.2"}}) == "192.0.2.1  |192.0.2.2  ");
    CHECK(hops_in({{"x-forwarded-proto", "HTTPS"}, {"x-forwarded-host", "a.example"}}) == " https a.example");
    const std::pair<std::string_view, std::string_view> two{"x-forwarded-for", "192.0.2.1, 192.0.2.2"};
    CHECK(hops_in({two, {"x-forwarded-proto", "https,http"}}) == "192.0.2.1 https |192.0.2.2 http ");
    CHECK(hops_in({two, {"x-forwarded-proto", "https"}}) == "192.0.2.1 https |192.0.2.2 https ");
    CHECK(hops_in({two, {"x-forwarded-proto", "http,http,https"}}) == "192.0.2.1 https |192.0.2.2 https ");
    for (const auto* bad : {"192.0.2.1,,192.0.2.2", ",", "localhost", "192.0.2.1;", "192.0.2.1:", "1.2.3.4 5.6.7.8",
                            "::1]:80", "\"1.2.3.4\""})
        CHECK(listed(bad) == "refused");
    for (const auto* bad : {"ftp", "https,", "http s", ""})
        CHECK(hops_in({two, {"x-forwarded-proto", bad}}) == (*bad ? "refused" : "192.0.2.1  |192.0.2.2  "));
    CHECK(hops_in({{"x-forwarded-host", "a.example/x"}}) == "refused");
    CHECK(hops_in({{"forwarded", "for=192.0.2.1"}, {"x-forwarded-for", "192.0.2.1"}}) == "refused");
    CHECK(hops_in({{"host", "a"}}).empty());
}

TEST_CASE("proxies are trusted by address, network and UNIX socket")
{
    const trusted_proxies some({"10.0.0.0/8", "192.0.2.7", "2001:db8::/32", "unix"});
    for (const auto* in : {"10.1.2.3", "192.0.2.7", "2001:db8::1", "unix", "::ffff:10.1.2.3"}) CHECK(some.contains(in));
    for (const auto* out : {"11.0.0.1", "192.0.2.8", "2001:db9::1", "", "10.0.0.0/8", "localhost", "::1"})
        CHECK_FALSE(some.contains(out));
    CHECK_FALSE(trusted_proxies({"10.0.0.0/8"}).contains("unix"));
    CHECK_FALSE(trusted_proxies({}).contains("127.0.0.1"));
    CHECK(trusted_proxies({}).empty());
    CHECK_FALSE(trusted_proxies({"unix"}).empty());
}

TEST_CASE("the client is the last address that no trusted proxy has")
{
    const std::vector<std::string> trusted{"10.0.0.0/8", "unix"};
    const fields chain{{"x-forwarded-for", "203.0.113.9, 198.51.100.1, 10.0.0.2"},
                       {"x-forwarded-proto", "https"},
                       {"x-forwarded-host", "a.example"}};
    auto seen = asked(trusted, "10.0.0.1", chain);
    CHECK(seen.address == "198.51.100.1");
    CHECK(seen.secure);
    CHECK(seen.host == "a.example");
    CHECK(asked(trusted, "unix", chain).address == "198.51.100.1");
    CHECK(asked(trusted, "10.0.0.1", {{"x-forwarded-for", "10.0.0.3, 10.0.0.2"}}).address == "10.0.0.3");
    CHECK(asked(trusted, "10.0.0.1", {{"x-forwarded-for", "203.0.113.9, unknown"}}).address == "10.0.0.1");
    CHECK(asked(trusted, "10.0.0.1", {{"forwarded", "for=203.0.113.9;proto=https, for=10.0.0.2;proto=http"}}).secure);

    seen = asked(trusted, "192.0.2.1", chain);
    CHECK(seen.address == "192.0.2.1");
    CHECK_FALSE(seen.secure);
    CHECK(seen.host.empty());
    CHECK(asked({}, "127.0.0.1", chain).address == "127.0.0.1");
}

TEST_CASE("fields of a proxy that break the rules change nothing")
{
    const auto seen = asked({"10.0.0.0/8"}, "10.0.0.1",
                            {{"x-forwarded-for", "198.51.100.1, nonsense"}, {"x-forwarded-proto", "https"}});
    CHECK(seen.address == "10.0.0.1");
    CHECK_FALSE(seen.secure);
    const fields both{{"x-forwarded-for", "198.51.100.1"}, {"forwarded", "for=198.51.100.2;host=evil.example"}};
    CHECK(asked({"10.0.0.0/8"}, "10.0.0.1", both).address == "10.0.0.1");
    CHECK(asked({"10.0.0.0/8"}, "10.0.0.1", both).host.empty());
}

}  // namespace cmcp
