#include "egress/egress_policy.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;

namespace {

std::vector<egress_entry> entries(const std::vector<std::string>& texts)
{
    std::vector<egress_entry> all;
    for (const auto& text : texts) all.push_back(egress_entry::parse(text));
    return all;
}

egress_policy sandbox_policy(const std::vector<std::string>& allow, const std::vector<std::string>& ceiling,
                             const std::vector<std::string>& opened = {})
{
    return egress_policy::of_sandbox(entries(allow), entries(ceiling), entries(opened));
}

std::string rule(const egress_policy& by, const std::string& name, std::uint16_t port = 443)
{
    const auto verdict = by.judge(read_host(name), port);
    return verdict.allowed ? "allowed" : verdict.rule;
}

}  // namespace

TEST_CASE("a sandbox reaches what its own list and the operator's name")
{
    const auto both = sandbox_policy({"a.test", "*.b.test:443", "c.test"}, {"a.test", "*.test", "!c.test"});
    CHECK(rule(both, "a.test") == "allowed");
    CHECK(rule(both, "x.b.test") == "allowed");
    CHECK(rule(both, "x.b.test", 80) == "network");
    CHECK(rule(both, "b.test") == "network");
    CHECK(rule(both, "c.test") == "SANDBOX_NETWORK_ALLOWED");
    CHECK(rule(both, "a.elsewhere") == "SANDBOX_NETWORK_ALLOWED");
}

TEST_CASE("empty lists allow nothing, on either side")
{
    CHECK(rule(sandbox_policy({}, {"*"}), "a.test") == "network");
    CHECK(rule(sandbox_policy({"*"}, {}), "a.test") == "SANDBOX_NETWORK_ALLOWED");
}

TEST_CASE("ports of other services than the web must be named in both lists")
{
    CHECK(rule(sandbox_policy({"a.test"}, {"a.test"}), "a.test", 22) == "port");
    CHECK(rule(sandbox_policy({"a.test:22"}, {"a.test"}), "a.test", 22) == "port");
    CHECK(rule(sandbox_policy({"a.test"}, {"a.test:22"}), "a.test", 22) == "port");
    const auto named = sandbox_policy({"a.test:22"}, {"a.test:22"});
    CHECK(rule(named, "a.test", 22) == "allowed");
    CHECK(named.names_port(read_host("a.test"), 22));
    CHECK_FALSE(named.names_port(read_host("a.test"), 443));
}

TEST_CASE("a name may be asked for where any of its ports is allowed")
{
    const auto named = sandbox_policy({"a.test:8443", "b.test"}, {"*"});
    CHECK(sandbox_policy({"a.test:8443"}, {"*:8443"}).judge(read_host("a.test")).allowed);
    CHECK(named.judge(read_host("b.test")).allowed);
    const auto refused = named.judge(read_host("stolen.c.test"));
    CHECK_FALSE(refused.allowed);
    CHECK(refused.sentence.find("stolen.c.test is refused") == 0);
    CHECK(refused.sentence.find("set_network") != std::string::npos);
}

TEST_CASE("private addresses stay closed to sandboxes, but for those that SANDBOX_NETWORK_PRIVATE names")
{
    const auto address = boost::asio::ip::make_address("10.1.2.3");
    const auto closed = sandbox_policy({"a.test"}, {"a.test"}).judge(read_host("a.test"), address, 443);
    CHECK_FALSE(closed.allowed);
    CHECK(closed.sentence.find("SANDBOX_NETWORK_PRIVATE") != std::string::npos);
    CHECK(sandbox_policy({"a.test"}, {"a.test"}, {"10.1.0.0/16"}).judge(read_host("a.test"), address, 443).allowed);
    CHECK(sandbox_policy({"a.test"}, {"a.test"}, {"a.test"}).judge(read_host("a.test"), address, 443).allowed);
    const auto metadata = boost::asio::ip::make_address("169.254.169.254");
    CHECK_FALSE(sandbox_policy({"*"}, {"*"}, {"169.254.0.0/16"}).judge(read_host("a.test"), metadata, 80).allowed);
    CHECK(rule(sandbox_policy({"*"}, {"*"}), "127.0.0.1") == "loopback");
}

TEST_CASE("an address that either list refuses is not reached by a name that leads there")
{
    const auto address = boost::asio::ip::make_address("93.184.216.34");
    CHECK_FALSE(sandbox_policy({"*", "!93.184.216.0/24"}, {"*"}).judge(read_host("a.test"), address, 443).allowed);
    CHECK_FALSE(sandbox_policy({"*"}, {"*", "!93.184.216.0/24"}).judge(read_host("a.test"), address, 443).allowed);
}
