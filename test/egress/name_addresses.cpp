#include "egress/name_addresses.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
namespace ip = boost::asio::ip;

TEST_CASE("a name keeps its address, in both families")
{
    name_addresses names(true);
    const auto first = names.v4_of("a.test");
    CHECK(first.to_string() == "198.18.0.1");
    CHECK(names.v6_of("a.test").to_string() == "fd63:6d63:7000::1");
    CHECK(names.v4_of("b.test").to_string() == "198.18.0.2");
    CHECK(names.v4_of("a.test") == first);
    CHECK(names.name_of(first) == "a.test");
    CHECK(names.name_of(ip::make_address("::ffff:198.18.0.2")) == "b.test");
    CHECK(names.name_of(names.v6_of("b.test")) == "b.test");
}

TEST_CASE("addresses that stand for nothing have no name")
{
    name_addresses names(true);
    names.v4_of("a.test");
    for (const char* other : {"198.18.0.0", "198.18.0.2", "198.17.255.255", "198.20.0.1", "127.0.0.1", "::1",
                              "fd63:6d63:7000::2", "fd63:6d63:7000:0:1::1", "fd63:6d63:7001::1"})
        CHECK_FALSE(names.name_of(ip::make_address(other)));
}

TEST_CASE("the longest unused name makes room, and its address goes to nobody soon")
{
    name_addresses names(true);
    const auto first = names.v4_of("0.test"), second = names.v4_of("1.test");
    for (std::size_t i = 2; i != name_addresses::most_names; ++i) names.v4_of(std::to_string(i) + ".test");
    CHECK(names.name_of(first) == "0.test");  // used now
    names.v4_of("new.test");
    CHECK(names.name_of(first) == "0.test");
    CHECK_FALSE(names.name_of(second));
    CHECK(names.v4_of("1.test") != second);
}

TEST_CASE("a small range goes round, and never gives an address that is in use")
{
    name_addresses names(true, {ip::make_address_v4("127.77.0.0"), 6, {}});
    for (int i = 0; i != 20; ++i) {
        const auto address = names.v4_of(std::to_string(i) + ".test");
        CHECK(address.to_uint() > ip::make_address_v4("127.77.0.0").to_uint());
        CHECK(address.to_uint() < ip::make_address_v4("127.77.0.5").to_uint());
        CHECK(names.name_of(address) == std::to_string(i) + ".test");
    }
}
