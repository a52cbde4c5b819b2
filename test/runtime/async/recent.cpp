#include "async/recent.hpp"

#include "test/support/catch.hpp"

using namespace cmcp;

TEST_CASE("the latest entries are kept, and counted from any number on")
{
    recent<int> latest(3);
    CHECK(latest.last() == 0);
    CHECK(latest.count_after(0) == 0);
    for (int i = 1; i <= 5; ++i) latest.add(i);
    CHECK(latest.entries().size() == 3);
    CHECK(latest.entries().front() == 3);
    CHECK(latest.last() == 5);
    CHECK(latest.count_after(5) == 0);
    CHECK(latest.count_after(4) == 1);
    CHECK(latest.count_after(0) == 3);
}
