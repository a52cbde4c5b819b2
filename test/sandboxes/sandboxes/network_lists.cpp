#include "networks/network_lists.hpp"
#include "config/settings.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;

namespace {

network_lists lists_of(settings::words usual, settings::words allowed = {}, settings::words opened = {})
{
    settings config;
    config.sandbox_network = std::move(usual);
    config.sandbox_network_allowed = std::move(allowed);
    config.sandbox_network_private = std::move(opened);
    return network_lists::of(config);
}

}  // namespace

TEST_CASE("no host is listed where sandboxes have no network")
{
    const auto lists = lists_of({"none"});
    CHECK(lists.usual.empty());
    CHECK(lists.ceiling.empty());
}

TEST_CASE("the usual hosts of sandboxes are all that may be given, unless others are allowed")
{
    CHECK(lists_of({"a.example"}).ceiling.size() == 1);
    const auto lists = lists_of({"none"}, {"a.example", "*.b.example:8443", "!c.b.example"});
    CHECK(lists.usual.empty());
    CHECK(lists.ceiling.size() == 3);
}

TEST_CASE("names listen at the ports of the web and at those that the list names")
{
    CHECK(lists_of({"none"}, {"a.example"}).ports == std::vector<std::uint16_t>{80, 443});
    CHECK(lists_of({"none"}, {"a.example:22", "b.example:8443", "!c.example:99"}).ports ==
          std::vector<std::uint16_t>{22, 80, 443, 8443});
}

TEST_CASE("a list that cannot be meant names its setting")
{
    CHECK_THROWS_WITH(lists_of({"a b"}), Catch::Contains("SANDBOX_NETWORK: "));
    CHECK_THROWS_WITH(lists_of({"none"}, {"10.0.0.0/99"}), Catch::Contains("SANDBOX_NETWORK_ALLOWED: "));
    CHECK_THROWS_WITH(lists_of({"none"}, {"a.example"}, {"*"}), Catch::Contains("SANDBOX_NETWORK_PRIVATE: "));
    settings::words many;
    for (int port = 1000; port < 1040; ++port) many.push_back("a.example:" + std::to_string(port));
    CHECK_THROWS_WITH(lists_of({"none"}, many), Catch::Contains("32 ports"));
}

TEST_CASE("a sandbox reaches nothing where an entry of its record cannot be read")
{
    CHECK(recorded_entries("sbx_1", {"a.example", "!b.a.example"}).size() == 2);
    CHECK(recorded_entries("sbx_1", {}).empty());
    for (const auto* broken : {"!b.a.example:99999", "a b", "!", "*.*", "10.0.0.0/99"}) {
        INFO(broken);
        CHECK(recorded_entries("sbx_1", {"*.example", broken}).empty());
    }
}
