#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "egress/address_rules.hpp"
#include "egress/egress_policy.hpp"
#include "test/support/catch.hpp"

#include <boost/asio/ip/address.hpp>

using namespace cmcp;

namespace {

egress_policy policy(std::vector<std::string> domains, std::vector<std::string> opened = {})
{
    settings config;
    config.web_allowed_domains = std::move(domains);
    config.web_allowed_private = std::move(opened);
    return egress_policy::from_settings(config);
}

bool allows(const egress_policy& rules, std::string_view name, std::uint16_t port = 443)
{
    return rules.judge(read_host(name), port).allowed;
}

bool allows_at(const egress_policy& rules, std::string_view name, const char* address, std::uint16_t port = 443)
{
    const auto who = read_host(name);
    return rules.judge(who, port).allowed && rules.judge(who, boost::asio::ip::make_address(address), port).allowed;
}

std::string complaint(std::vector<std::string> domains, std::vector<std::string> opened = {})
{
    try {
        policy(std::move(domains), std::move(opened));
    } catch (const config_error& problem) {
        return problem.what();
    }
    return "no complaint";
}

bool names(const std::string& sentence, const char* setting) { return sentence.find(setting) != std::string::npos; }

std::string range_of(const char* address) { return std::string(special_range(boost::asio::ip::make_address(address))); }

}  // namespace

TEST_CASE("every way to write an address is that address")
{
    for (const char* text :
         {"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "127.0.0.1.", "0X7F.0.0.1",
          "017700000001", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:0001]", "::ffff:127.0.0.1",
          "①②⑦.⓪.⓪.①", "127。0。0。1", "１２７.0.0.1"}) {
        INFO(text);
        CHECK(read_host(text).name == "127.0.0.1");
        CHECK(read_host(text).address);
    }
    CHECK(read_host("0").name == "0.0.0.0");
    CHECK(read_host("[::1]").text() == "[::1]");
    CHECK(read_host("[2001:DB8::1]").name == "2001:db8::1");
}

TEST_CASE("names are lower case, without a closing dot, international ones as A-labels")
{
    CHECK(read_host("Example.COM.").name == "example.com");
    CHECK(read_host("bücher.example").name == "xn--bcher-kva.example");
    CHECK(read_host("a_b-c.example").name == "a_b-c.example");
    CHECK_FALSE(read_host("1.2.3.com").address);
}

TEST_CASE("what cannot be a host is refused")
{
    for (const char* text : {"", ".", "a..b", "a b", "exa%6dple.com", "host/x", "256.1.1.1", "1.2.3.4.5", "0x100000000",
                             "09.1", "[::1", "[zz]", "[fe80::1%eth0]", "a\\b", "user@host"}) {
        INFO(text);
        CHECK_THROWS_AS(read_host(text), bad_host);
    }
    CHECK_THROWS_AS(read_host(std::string(64, 'a') + ".example"), bad_host);
    CHECK_THROWS_AS(read_host(std::string(300, 'a')), bad_host);
}

TEST_CASE("special-purpose addresses are known in every form")
{
    for (const char* address :
         {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1",
          "2002:7f00:1::", "::ffff:0:127.0.0.1", "2001:4860::200:5efe:127.0.0.1"}) {
        INFO(address);
        CHECK(range_of(address) == "loopback");
    }
    for (const char* address : {"169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16",
                                "::ffff:169.254.169.254"}) {
        INFO(address);
        CHECK(range_of(address) == "cloud metadata");
        CHECK(is_metadata_address(boost::asio::ip::make_address(address)));
    }
    for (const char* address :
         {"0.0.0.0",   "0.1.2.3",   "10.0.0.1",        "100.64.0.1", "169.254.1.1",  "172.16.0.1",  "172.31.255.255",
          "192.0.0.8", "192.0.2.1", "192.168.0.1",     "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1",
          "239.1.1.1", "240.0.0.1", "255.255.255.255", "::",         "fc00::1",      "fd12::1",     "fe80::1",
          "fec0::1",   "ff02::1",   "100::1",          "2001::1",    "2001:db8::1",  "3fff::1",     "64:ff9b:1::1",
          "5f00::1",   "4000::1",   "2002:a00:1::1",   "::a00:1"}) {
        INFO(address);
        CHECK_FALSE(range_of(address).empty());
    }
    for (const char* address :
         {"8.8.8.8", "1.1.1.1", "172.32.0.1", "172.15.0.1", "11.0.0.1", "100.128.0.1", "2606:4700::1111",
          "2a00:1450::1", "64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8"}) {
        INFO(address);
        CHECK(range_of(address).empty());
    }
}

TEST_CASE("WEB_ALLOWED_DOMAINS: names, subdomains, ports, negative entries")
{
    const auto all = policy({"*"});
    CHECK(allows(all, "example.com"));
    CHECK(allows(all, "example.com", 8443));
    CHECK_FALSE(allows(all, "example.com", 25));
    const auto some = policy({"example.com", "*.example.org:443", "!secret.example.org", "8.8.8.8"});
    CHECK(allows(some, "example.com"));
    CHECK(allows(some, "EXAMPLE.com."));
    CHECK_FALSE(allows(some, "www.example.com"));
    CHECK(allows(some, "a.b.example.org"));
    CHECK_FALSE(allows(some, "a.example.org", 80));
    CHECK_FALSE(allows(some, "example.org"));
    CHECK_FALSE(allows(some, "badexample.org"));
    CHECK_FALSE(allows(some, "secret.example.org"));
    CHECK(allows(some, "8.8.8.8"));
    CHECK_FALSE(allows(some, "8.8.4.4"));
    const auto but = policy({"!example.com", "!203.0.113.0/24"});
    CHECK_FALSE(allows(but, "example.com"));
    CHECK(allows(but, "example.org"));
    CHECK_FALSE(allows(policy({}), "example.com"));
    CHECK(allows(policy({"mail.example.com:25"}), "mail.example.com", 25));
    CHECK(some.judge(read_host("x.example"), 443).rule == "WEB_ALLOWED_DOMAINS");
}

TEST_CASE("a name that leads to a private address is refused, a listed one too")
{
    const auto rules = policy({"example.com", "*"});
    CHECK(allows_at(rules, "example.com", "8.8.8.8"));
    for (const char* address :
         {"127.0.0.1", "::1", "10.1.2.3", "169.254.169.254", "::ffff:192.168.1.1", "64:ff9b::a00:1"}) {
        INFO(address);
        CHECK_FALSE(allows_at(rules, "example.com", address));
    }
    const auto why = rules.judge(read_host("example.com"), boost::asio::ip::make_address("10.1.2.3"), 443);
    CHECK(why.rule == "private (10.0.0.0/8)");
    CHECK(why.sentence.find("WEB_ALLOWED_PRIVATE") != std::string::npos);
    CHECK_FALSE(allows_at(policy({"*", "!8.8.8.0/24"}), "example.com", "8.8.8.8"));
}

TEST_CASE("WEB_ALLOWED_PRIVATE opens what it names and nothing else")
{
    const auto rules = policy({"*"}, {"127.0.0.1:8080", "10.0.0.0/8", "intranet.example", "*.corp.example:443"});
    CHECK(allows(rules, "127.0.0.1", 8080));
    CHECK(allows(rules, "127.1", 8080));
    CHECK(allows(rules, "[::ffff:127.0.0.1]", 8080));
    CHECK_FALSE(allows(rules, "127.0.0.1", 8081));
    CHECK_FALSE(allows(rules, "127.0.0.2", 8080));
    CHECK_FALSE(allows(rules, "[::1]", 8080));
    CHECK(allows_at(rules, "intranet.example", "192.168.3.4"));
    CHECK(allows_at(rules, "anything.example", "10.3.4.5"));
    CHECK_FALSE(allows_at(rules, "anything.example", "192.168.3.4"));
    CHECK(allows_at(rules, "a.corp.example", "172.16.0.9"));
    CHECK_FALSE(allows_at(rules, "a.corp.example", "172.16.0.9", 80));
    CHECK(allows(policy({"example.com"}, {"127.0.0.1:8080"}), "127.0.0.1", 8080));
    CHECK_FALSE(allows(policy({"*", "!127.0.0.1"}, {"127.0.0.1"}), "127.0.0.1", 8080));
}

TEST_CASE("a wide entry of WEB_ALLOWED_PRIVATE opens no metadata address")
{
    CHECK_FALSE(allows(policy({"*"}, {"169.254.0.0/16"}), "169.254.169.254", 80));
    CHECK_FALSE(allows_at(policy({"*"}, {"intranet.example"}), "intranet.example", "169.254.169.254", 80));
    CHECK(allows(policy({"*"}, {"169.254.169.254"}), "169.254.169.254", 80));
}

TEST_CASE("entries that mean nothing stop the start with a sentence that names the setting")
{
    for (const char* entry : {"exa mple.com", "example.com:99999", "example.com:0", "*.10.0.0.1", "10.0.0.0/33",
                              "example.com/8", "!", "a:b:c"}) {
        INFO(entry);
        CHECK(names(complaint({entry}), "WEB_ALLOWED_DOMAINS"));
    }
    CHECK(names(complaint({"*"}, {"*"}), "WEB_ALLOWED_PRIVATE"));
    CHECK(names(complaint({"*"}, {"!10.0.0.1"}), "WEB_ALLOWED_PRIVATE"));
}
