#include "async/fair_queue.hpp"

#include "test/support/catch.hpp"

#include <string>
#include <vector>

using namespace cmcp;
using namespace std::chrono_literals;

namespace {

using queue = fair_queue<std::string>;
using names = std::vector<std::string>;

// Takes up to `most` pieces, each of which uses so much time.
names take_all(queue& from, queue::duration used, std::size_t most = 100)
{
    names order;
    while (order.size() < most) {
        auto next = from.take(true);
        if (!next) break;
        order.push_back(next->work);
        from.charge(next->principal, used);
    }
    return order;
}

}  // namespace

TEST_CASE("principals take turns however much one of them has queued")
{
    queue all;
    for (const char* name : {"a1", "a2", "a3", "a4"}) all.put({"anna", false, name});
    for (const char* name : {"b1", "b2"}) all.put({"ben", false, name});
    CHECK(take_all(all, 1ms) == names{"a1", "b1", "a2", "b2", "a3", "a4"});
}

TEST_CASE("a principal that used much waits until the others have used as much")
{
    queue all;
    for (const char* name : {"a1", "a2"}) all.put({"anna", false, name});
    for (const char* name : {"b1", "b2", "b3"}) all.put({"ben", false, name});
    const auto first = all.take(true);
    all.charge(first->principal, 25ms);
    CHECK(first->work == "a1");
    CHECK(take_all(all, 10ms) == names{"b1", "b2", "b3", "a2"});
}

TEST_CASE("a principal that comes late is served next, but has no advantage from its absence")
{
    queue all;
    for (const char* name : {"a1", "a2", "a3", "a4", "a5"}) all.put({"anna", false, name});
    CHECK(take_all(all, 10ms, 3) == names{"a1", "a2", "a3"});
    for (const char* name : {"b1", "b2", "b3"}) all.put({"ben", false, name});
    CHECK(take_all(all, 10ms) == names{"b1", "a4", "b2", "a5", "b3"});
}

TEST_CASE("a principal does not lose its charge when it has nothing queued for a moment")
{
    queue all;
    all.put({"anna", false, "a1"});
    for (const char* name : {"b1", "b2", "b3"}) all.put({"ben", false, name});
    const auto first = all.take(true);
    all.charge(first->principal, 25ms);
    all.put({"anna", false, "a2"});
    CHECK(take_all(all, 10ms) == names{"b1", "b2", "b3", "a2"});
}

TEST_CASE("long pieces are passed over where they are not wanted, and keep their place")
{
    queue all;
    all.put({"anna", true, "long"});
    all.put({"anna", false, "short"});
    const auto next = all.take(false);
    REQUIRE(next);
    CHECK(next->work == "short");
    CHECK_FALSE(all.take(false));
    all.put({"anna", false, "later"});
    CHECK(take_all(all, 1ms) == names{"long", "later"});
}
