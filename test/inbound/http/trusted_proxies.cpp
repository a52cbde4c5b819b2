#include "http/trusted_proxies.hpp"

#include "http/forwarded_client.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

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

bool trusts(const std::string& address) { return trusted_proxies({"10.0.0.0/8"}).contains(address); }

// "address scheme host", with " broken" behind them.
std::string client_in(const fields& sent)
{
    const auto client = forwarded_client_of(with(sent), trusts);
    if (!client) return "none";
    return client->address + " " + client->scheme + " " + client->host + (client->is_broken ? " broken" : "");
}

std::string forwarded(std::string_view value) { return client_in({{"forwarded", value}}); }
std::string listed(std::string_view value) { return client_in({{"x-forwarded-for", value}}); }

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
    CHECK(forwarded("for=\"[::ffff:192.0.2.43]\"") == "192.0.2.43  ");
    CHECK(forwarded("for=192.0.2.60;proto=HTTP;by=203.0.113.43;host=a.example") == "192.0.2.60 http a.example");
    CHECK(forwarded("for=192.0.2.43, for=198.51.100.17;proto=https") == "198.51.100.17 https ");
    CHECK(forwarded("for=192.0.2.43;proto=https, for=10.0.0.7;proto=http") == "192.0.2.43 https ");
    CHECK(forwarded("for=unknown , for=_hidden;host=\"b.example:8443\"") == "unknown  b.example:8443");
    CHECK(forwarded("for=\"192.0.2.43:47011\"") == "192.0.2.43  ");
    CHECK(forwarded("for=\"192.0.2.43:_port\"") == "192.0.2.43  ");
    CHECK(forwarded("for=192.0.2.43;secret=\"a\\\"b,;\"") == "192.0.2.43  ");
    CHECK(forwarded("proto=https") == "unknown https ");
    CHECK(client_in({{"forwarded", "for=192.0.2.1"}, {"forwarded", "for=192.0.2.2"}}) == "192.0.2.2  ");
    CHECK(client_in({{"forwarded", "for=192.0.2.1"}, {"forwarded", "for=10.0.0.2"}}) == "192.0.2.1  ");
}

TEST_CASE("an element of Forwarded that breaks the rules names nobody")
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
                                  "for=1.2.3.4 proto=http",
                                  "for =1.2.3.4",
                                  "for= 1.2.3.4",
                                  "for=1.2.3.4;for=1.2.3.5",
                                  "for=unknown;for=1.2.3.5",
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
                                  "for=\"\"",
                                  "for=\"unix\"",
                                  "for=unix"}) {
        INFO(bad);
        CHECK(forwarded(bad) == "unknown http  broken");
    }
}

TEST_CASE("X-Forwarded-* are read as lists, from the right")
{
    CHECK(listed("192.0.2.1") == "192.0.2.1  ");
    CHECK(listed("192.0.2.1:80") == "192.0.2.1  ");
    CHECK(listed("2001:db8::1") == "2001:db8::1  ");
    CHECK(listed("[2001:db8::2]:443") == "2001:db8::2  ");
    CHECK(listed("::ffff:192.0.2.1") == "192.0.2.1  ");
    CHECK(listed("192.0.2.1:80 ,\t2001:db8::1, [2001:db8::2]:443, unknown") == "unknown  ");
    CHECK(client_in({{"x-forwarded-for", "192.0.2.1"}, {"x-forwarded-for", "192.0.2.2"}}) == "192.0.2.2  ");
    CHECK(client_in({{"x-forwarded-proto", "HTTPS"}, {"x-forwarded-host", "a.example"}}) == "unknown https a.example");
    const std::pair<std::string_view, std::string_view> two{"x-forwarded-for", "192.0.2.1, 10.0.0.2"};
    CHECK(client_in({two, {"x-forwarded-proto", "https,http"}}) == "192.0.2.1 https ");
    CHECK(client_in({two, {"x-forwarded-proto", "http,https"}}) == "192.0.2.1 http ");
    CHECK(client_in({two, {"x-forwarded-proto", "https"}}) == "192.0.2.1 https ");
    CHECK(client_in({two, {"x-forwarded-proto", "http,http,https"}}) == "192.0.2.1 https ");
    for (const auto* bad : {"", "192.0.2.1,", ",", "localhost", "192.0.2.1;", "192.0.2.1:", "1.2.3.4 5.6.7.8",
                            "::1]:80", "\"1.2.3.4\"", "unix", "10.0.0.0/8", "0x0a000001", "010.0.0.1", "10.1"}) {
        INFO(bad);
        CHECK(listed(bad) == "unknown   broken");
    }
    for (const auto* bad : {"ftp", "http s", "gopher", "https,http,x"})
        CHECK(client_in({two, {"x-forwarded-proto", bad}}) == "192.0.2.1 http  broken");
    CHECK(client_in({two, {"x-forwarded-host", "a.example/x"}}) == "192.0.2.1   broken");
    CHECK(client_in({{"host", "a"}}) == "none");
}

TEST_CASE("what a client sends before the items of its proxy changes nothing")
{
    std::string many, trusted;
    for (int i = 0; i < 200; ++i) many += "10.1.1.1, ";
    for (int i = 0; i < 60; ++i) trusted += "10.1.1.1, ";
    for (const std::string& own :
         {std::string("x!, "), std::string("10.1.1.1, "), std::string(", ,"), many, std::string("\"10.1.1.1, "),
          std::string("unknown, "), std::string("for=10.1.1.1;, ")})
        CHECK(listed(own + "203.0.113.9") == "203.0.113.9  ");
    CHECK(listed("203.0.113.9, " + trusted + "10.1.1.1") == "203.0.113.9  ");
    CHECK(listed(many + "10.1.1.1") == "unknown http  broken");
    CHECK(listed("203.0.113.9, x!, 10.1.1.1") == "unknown   broken");
    CHECK(client_in({{"x-forwarded-for", "x!"}, {"x-forwarded-for", "203.0.113.9"}}) == "203.0.113.9  ");

    for (const std::string own : {"x!, ", "for=10.1.1.1, ", "for=10.1.1.1;, ", "a=\"\", ", "\"\", "})
        CHECK(forwarded(own + "for=203.0.113.9;host=a") == "203.0.113.9  a");
    // An open quote would take the proxy's own element into the client's.
    for (const std::string own : {"for=10.1.1.1;x=\"", "for=10.1.1.1;x=\"\\", "\"", "for=\"10.1.1.1"})
        for (const std::string proxy :
             {", for=203.0.113.9", ", for=\"[2001:db8::1]\"", ",for=203.0.113.9;host=\"a\\\"b\"",
              ", for=\"203.0.113.9:1\", for=\"10.0.0.1:2\""}) {
            INFO(own + proxy);
            CHECK(forwarded(own + proxy).starts_with("unknown http"));
        }
    CHECK(client_in({{"forwarded", "for=\"10.1.1.1"}, {"forwarded", "for=203.0.113.9"}}) == "203.0.113.9  ");
    CHECK(client_in({{"forwarded", "for=\"10.1.1.1"}, {"forwarded", "for=10.0.0.3"}}).starts_with("unknown"));
}

TEST_CASE("of two kinds of fields only what both say alike counts")
{
    const auto both = [](std::string_view one, std::string_view other) {
        return client_in({{"forwarded", one}, {"x-forwarded-for", other}, {"x-forwarded-proto", "https"}});
    };
    CHECK(both("for=192.0.2.1;proto=https", "192.0.2.1") == "192.0.2.1 https ");
    CHECK(both("for=192.0.2.1;host=evil.example", "192.0.2.1") == "192.0.2.1 http ");
    CHECK(both("for=10.1.1.1;proto=https", "192.0.2.1") == "unknown https  broken");
    CHECK(both("for=192.0.2.1", "10.1.1.1") == "unknown http  broken");
    CHECK(both("x", "192.0.2.1") == "unknown http  broken");
    CHECK(both("for=192.0.2.1", "x!") == "unknown http  broken");
}

TEST_CASE("fields of proxies are read in linear time")
{
    const auto repeated = [](std::string_view item) {
        return [item](std::size_t size) {
            std::string text;
            while (text.size() < size) text += item;
            return text + "203.0.113.9";
        };
    };
    constexpr std::size_t size = 32 * 1024;
    const auto many_times = [](auto read) {
        return [read](const std::string& text) {
            for (int i = 0; i < 20; ++i) read(text);
        };
    };
    for (const auto* item : {"10.0.0.1, ", "x!,", ",", "\"", "for=\"a\\\",\";"}) {
        INFO(item);
        CHECK(test::growth(repeated(item), many_times(listed), size) < test::linear_growth);
        CHECK(test::growth(repeated(item), many_times(forwarded), size) < test::linear_growth);
    }
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
    CHECK(asked(trusted, "10.0.0.1", {{"x-forwarded-for", "203.0.113.9, unknown"}}).address == unknown_client);
    CHECK(asked(trusted, "10.0.0.1", {{"x-forwarded-proto", "https"}}).address == unknown_client);
    CHECK(asked(trusted, "10.0.0.1", {}).address == "10.0.0.1");
    CHECK(asked(trusted, "10.0.0.1", {{"forwarded", "for=203.0.113.9;proto=https, for=10.0.0.2;proto=http"}}).secure);

    seen = asked(trusted, "192.0.2.1", chain);
    CHECK(seen.address == "192.0.2.1");
    CHECK_FALSE(seen.secure);
    CHECK(seen.host.empty());
    CHECK(asked({}, "127.0.0.1", chain).address == "127.0.0.1");
}

TEST_CASE("a client that cannot be read is unknown, in no network, and not the proxy")
{
    const std::vector<std::string> trusted{"10.0.0.0/8", "unix"};
    for (const std::string peer : {"10.0.0.1", "unix"}) {
        const auto seen =
            asked(trusted, peer, {{"x-forwarded-for", "198.51.100.1, nonsense"}, {"x-forwarded-proto", "gopher"}});
        CHECK(seen.address == unknown_client);
        CHECK_FALSE(seen.secure);
        const fields both{{"x-forwarded-for", "198.51.100.1"}, {"forwarded", "for=198.51.100.2;host=evil.example"}};
        CHECK(asked(trusted, peer, both).address == unknown_client);
        CHECK(asked(trusted, peer, both).host.empty());
    }
    CHECK_FALSE(trusted_proxies(trusted).contains(unknown_client));
    CHECK_FALSE(networks::parse("0.0.0.0/0 ::/0").hold(unknown_client));
}

}  // namespace cmcp
