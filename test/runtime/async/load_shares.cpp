#include "async/load_shares.hpp"

#include "test/support/catch.hpp"

#include <string>

using namespace cmcp;
using namespace std::chrono_literals;

TEST_CASE("those who have used the loop most are heavy, and others are not")
{
    load_shares shares;
    const auto now = load_shares::clock::now();
    CHECK(shares.is_heavy("anna", 1, now));  // nobody has used more
    shares.charge("anna", 80ms, now);
    shares.charge("ben", 30ms, now);
    shares.charge("carl", 1ms, now);
    CHECK(shares.is_heavy("anna", 1, now));
    CHECK_FALSE(shares.is_heavy("ben", 1, now));
    CHECK(shares.is_heavy("ben", 2, now));
    CHECK_FALSE(shares.is_heavy("carl", 6, now));
    CHECK(shares.is_heavy("carl", 7, now));
    CHECK_FALSE(shares.is_heavy("new", 16, now));
}

TEST_CASE("what was charged fades")
{
    load_shares shares;
    const auto now = load_shares::clock::now();
    shares.charge("anna", 80ms, now);
    shares.charge("ben", 30ms, now + 3s);
    CHECK(shares.is_heavy("ben", 1, now + 3s));
    CHECK_FALSE(shares.is_heavy("anna", 1, now + 3s));
}

TEST_CASE("the shares of many payers are bounded, and the largest stay")
{
    load_shares shares;
    const auto now = load_shares::clock::now();
    shares.charge("anna", 1h, now);
    for (int i = 0; i < 5000; ++i) shares.charge("@" + std::to_string(i), 1ms, now);
    CHECK(shares.payers() <= 1000);
    CHECK(shares.is_heavy("anna", 1, now));
    CHECK_FALSE(shares.is_heavy("@4999", 1, now));
}
