#include "tls/ticket_keys.hpp"

#include "test/support/catch.hpp"

namespace cmcp {

using namespace std::chrono_literals;

TEST_CASE("a key makes tickets for one period, opens them for another, and is gone then")
{
    ticket_keys keys(100s);
    const auto begin = ticket_keys::clock::time_point(1h);
    const auto first = keys.to_make(begin);
    CHECK(keys.to_make(begin + 99s).name == first.name);
    auto opener = keys.to_open(first.name.data(), begin + 99s);
    REQUIRE(opener);
    CHECK_FALSE(opener->old);
    CHECK(opener->is.cipher == first.cipher);

    const auto second = keys.to_make(begin + 101s);
    CHECK(second.name != first.name);
    CHECK(second.cipher != first.cipher);
    CHECK(second.mac != first.mac);
    opener = keys.to_open(first.name.data(), begin + 150s);
    REQUIRE(opener);
    CHECK(opener->old);
    CHECK(opener->is.mac == first.mac);

    CHECK_FALSE(keys.to_open(first.name.data(), begin + 250s));
    CHECK(keys.to_open(second.name.data(), begin + 250s)->old);
}

TEST_CASE("after a long silence no old key opens a ticket")
{
    ticket_keys keys(100s);
    const auto begin = ticket_keys::clock::time_point(1h);
    const auto first = keys.to_make(begin);
    CHECK_FALSE(keys.to_open(first.name.data(), begin + 1000s));
}

TEST_CASE("a ticket of a stranger is opened by no key")
{
    ticket_keys keys(100s);
    keys.to_make();
    const ticket_keys::key other{};
    CHECK_FALSE(keys.to_open(other.name.data()));
}

}  // namespace cmcp
