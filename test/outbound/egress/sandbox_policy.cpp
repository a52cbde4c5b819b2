#include "test/outbound/egress/egress_support.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

std::string rule_of(const egress_policy& policy, std::string_view name, std::uint16_t port = 443)
{
    const auto decision = policy.judge(read_host(name), port);
    return decision.allowed ? "" : decision.rule;
}

std::string rule_at(const egress_policy& policy, std::string_view name, const char* address, std::uint16_t port = 443)
{
    const auto decision = policy.judge(read_host(name), asio::ip::make_address(address), port);
    return decision.allowed ? "" : decision.rule;
}

}  // namespace

TEST_CASE("a sandbox reaches what its own list and the operator's allow")
{
    const auto policy = sandbox_rules({"*.example.org", "pypi.org:443", "!bad.example.org"}, {"*", "!not.example.org"});
    CHECK(rule_of(policy, "a.example.org").empty());
    CHECK(rule_of(policy, "example.org") == "network");
    CHECK(rule_of(policy, "bad.example.org") == "network");
    CHECK(rule_of(policy, "not.example.org") == "SANDBOX_NETWORK_ALLOWED");
    CHECK(rule_of(policy, "pypi.org").empty());
    CHECK(rule_of(policy, "pypi.org", 80) == "network");
    CHECK(policy.judge(read_host("x.test"), 443).sentence ==
          "x.test:443 is refused: it is not in the sandbox's network; allow it with set_network, "
          "\"allow\": [..., \"x.test:443\"].");
    CHECK(has(policy.judge(read_host("not.example.org"), 443).sentence, "SANDBOX_NETWORK_ALLOWED does not allow it"));
}

TEST_CASE("an empty list of a sandbox, and one that only refuses, allows nothing")
{
    CHECK(rule_of(sandbox_rules({}, {"*"}), "example.org") == "network");
    CHECK(rule_of(sandbox_rules({"*"}, {}), "example.org") == "SANDBOX_NETWORK_ALLOWED");
    CHECK(rule_of(sandbox_rules({"!a.test"}, {"*"}), "example.org") == "network");
    CHECK(rule_of(sandbox_rules({"*"}, {"!a.test"}), "example.org") == "SANDBOX_NETWORK_ALLOWED");
    CHECK(rule_of(sandbox_rules({}, {"*"}, {"example.org"}), "example.org") == "network");
}

TEST_CASE("ports of other services than the web stand in both lists")
{
    CHECK(rule_of(sandbox_rules({"git.test"}, {"*:22"}), "git.test", 22) == "network");
    CHECK(rule_of(sandbox_rules({"git.test:22"}, {"*"}), "git.test", 22) == "SANDBOX_NETWORK_ALLOWED");
    CHECK(rule_of(sandbox_rules({"git.test:22"}, {"*:22"}), "git.test", 22).empty());
    CHECK(rule_of(sandbox_rules({"git.test"}, {"*"}), "git.test", 5432).empty());
}

TEST_CASE("a sandbox reaches addresses that are not public where the operator opens them")
{
    const auto policy = sandbox_rules({"*", "10.1.2.0/24", "8.8.8.8"}, {"*"}, {"10.1.2.3", "db.test"});
    CHECK(rule_of(policy, "10.1.2.3").empty());
    CHECK(has(policy.judge(read_host("10.1.2.4"), 443).sentence, "SANDBOX_NETWORK_PRIVATE"));
    CHECK(rule_of(policy, "10.1.2.4") == "private (10.0.0.0/8)");
    CHECK(rule_of(policy, "8.8.8.8").empty());
    CHECK(rule_of(policy, "1.1.1.1") == "network");  // * stands for names
    CHECK(rule_at(policy, "x.test", "127.0.0.1") == "loopback");
    CHECK(rule_at(policy, "x.test", "169.254.169.254") == "cloud metadata");
    CHECK(rule_at(policy, "x.test", "198.18.0.1") == "benchmarking");
    CHECK(rule_at(policy, "x.test", "fd63:6d63:7000::1") == "unique local (fc00::/7)");
    CHECK(rule_at(policy, "x.test", "10.1.2.3").empty());
    CHECK(rule_at(policy, "db.test", "192.168.0.1").empty());
    CHECK(rule_at(policy, "db.test", "169.254.169.254") == "cloud metadata");
    CHECK(rule_at(policy, "x.test", "1.1.1.1").empty());
    CHECK(rule_at(sandbox_rules({"*"}, {"*", "!1.1.1.0/24"}), "x.test", "1.1.1.1") == "SANDBOX_NETWORK_ALLOWED");
    CHECK(rule_at(sandbox_rules({"*", "!1.1.1.0/24"}, {"*"}), "x.test", "1.1.1.1") == "network");
}

TEST_CASE("a name is judged without a port by whether any port of it may be reached")
{
    const auto any_port = [](const egress_policy& policy, std::string_view name) {
        return policy.judge(read_host(name)).allowed;
    };
    CHECK(any_port(sandbox_rules({"a.test:22"}, {"*:22"}), "a.test"));
    CHECK_FALSE(any_port(sandbox_rules({"a.test:22"}, {"*"}), "a.test"));
    CHECK_FALSE(any_port(sandbox_rules({"a.test:80"}, {"a.test:443"}), "a.test"));
    CHECK(any_port(sandbox_rules({"a.test", "!a.test:443", "!a.test:80"}, {"*"}), "a.test"));
    CHECK_FALSE(any_port(sandbox_rules({"a.test:8080", "!a.test"}, {"*"}), "a.test"));
    CHECK_FALSE(any_port(sandbox_rules({"a.test"}, {"*"}), "b.test"));
    CHECK(any_port(egress_policy(), "b.test"));
}

TEST_CASE("a port is named by an entry of the sandbox and one of the operator or *")
{
    const auto named = [](const egress_policy& policy, std::uint16_t port) {
        return policy.names_port(read_host("a.test"), port);
    };
    CHECK(named(sandbox_rules({"a.test:5432"}, {"*"}), 5432));
    CHECK(named(sandbox_rules({"a.test:5432"}, {"a.test:5432"}), 5432));
    CHECK_FALSE(named(sandbox_rules({"a.test:5432"}, {"a.test"}), 5432));
    CHECK_FALSE(named(sandbox_rules({"a.test"}, {"*:5432"}), 5432));
    CHECK_FALSE(named(sandbox_rules({"a.test:22"}, {"*"}), 22));
    CHECK_FALSE(named(sandbox_rules({"!a.test:5432"}, {"*"}), 5432));
    CHECK_FALSE(named(sandbox_rules({"b.test:5432"}, {"*"}), 5432));
}

TEST_CASE("a network that asks leaves to its user what the operator allows and its own list does not name")
{
    const auto rules = [](std::vector<std::string> allow) {
        const auto read = [](const std::vector<std::string>& all) { return read_entries(all, "test"); };
        return egress_policy::of_sandbox(read(allow), read({"*", "!not.test", "git.test:22"}), read({"10.1.2.3"}),
                                         true);
    };
    const auto policy = rules({"a.test", "!bad.test"});
    const auto asks = [&](const char* name, std::uint16_t port) { return policy.judge(read_host(name), port).asks; };
    CHECK(asks("b.test", 443));
    CHECK(asks("git.test", 22));
    CHECK(asks("93.184.216.34", 443));
    CHECK(asks("10.1.2.3", 443));
    CHECK(policy.judge(read_host("a.test"), 443).allowed);
    for (const char* name : {"a.test", "bad.test", "not.test", "localhost", "a.localhost", "10.1.2.4", "127.0.0.1",
                             "169.254.169.254", "::1"})
        CHECK_FALSE(asks(name, 443));
    CHECK_FALSE(asks("b.test", 22));
    CHECK(policy.judge(read_host("git.test")).asks);
    CHECK_FALSE(sandbox_rules({"a.test"}, {"*"}).judge(read_host("b.test"), 443).asks);
}

TEST_CASE("an address of the web in a list of hosts is refused with the host to write in its place")
{
    for (const auto& [address, meant] : {std::pair("http://github.com/", "write github.com."),
                                         std::pair("https://api.github.com:8443/v3?x", "write api.github.com:8443."),
                                         std::pair("!https://", "write example.com.")})
        try {
            egress_entry::parse(address);
            FAIL(address);
        } catch (const std::invalid_argument& refused) {
            CHECK(has(refused.what(), meant));
        }
}
