#include "http/bound_address.hpp"

#include "test/support/catch.hpp"

#include <stdexcept>

namespace cmcp {

TEST_CASE("an address is this machine's own where no other machine reaches it")
{
    CHECK(bound_address::only_this_machine("127.0.0.1"));
    CHECK(bound_address::only_this_machine("localhost"));
    CHECK(bound_address::only_this_machine("unix:/tmp/socket"));
    CHECK_FALSE(bound_address::only_this_machine("0.0.0.0"));
    CHECK_FALSE(bound_address::only_this_machine("::"));
}

TEST_CASE("an address that is bound cannot be bound again")
{
    const bound_address first("127.0.0.1", 0);
    REQUIRE(first.port() != 0);
    CHECK(first.url() == "http://127.0.0.1:" + std::to_string(first.port()));
    CHECK_THROWS_AS(bound_address("127.0.0.1", first.port()), std::runtime_error);
}

// A machine without IPv6 has the first alone.
TEST_CASE("localhost is both loopback addresses")
{
    bound_address both("LocalHost", 0);
    CHECK(both.url() == "http://127.0.0.1:" + std::to_string(both.port()));
    const auto sockets = both.take_sockets();
    CHECK_FALSE(sockets.empty());
    CHECK(sockets.size() <= 2);
}

}  // namespace cmcp
