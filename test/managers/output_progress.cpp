#include "managers/progress_feed.hpp"
#include "test/managers/run_support.hpp"

using namespace cmcp;
using namespace cmcp::test;
using namespace std::chrono_literals;

namespace {

struct stage {
    asio::io_context io;
    recording_io seen{io.get_executor()};
    progress_feed feed;

    explicit stage(progress_feed::pace pace) : feed(io.get_executor(), seen, pace) {}

    void start(awaitable<> work)
    {
        asio::co_spawn(io, std::move(work), [](std::exception_ptr e) {
            if (e) std::rethrow_exception(e);
        });
        settle();
    }
    void settle()
    {
        io.restart();
        io.poll();
    }
};

}  // namespace

TEST_CASE("the first text is sent at once and later text together")
{
    stage s({.interval = 1h, .heartbeat = 2h});
    s.start(s.feed.run());
    s.start(s.feed.add("one"));
    CHECK(s.seen.messages == std::vector<std::string>{"one"});
    s.start(s.feed.add("two"));
    s.start(s.feed.add("three"));
    CHECK(s.seen.messages.size() == 1);
    s.feed.finish();
    s.settle();
    CHECK(s.seen.messages == std::vector<std::string>{"one", "twothree"});
}

TEST_CASE("a silent run gives signs of life")
{
    stage s({.interval = 1ms, .heartbeat = 1ms});
    asio::co_spawn(s.io, s.feed.run(), [](std::exception_ptr) {});
    while (s.seen.messages.size() < 3) s.io.run_one();
    CHECK(s.seen.messages[0] == "still running, 0 s");
    CHECK(s.seen.values[0] < s.seen.values[1]);
    CHECK(s.seen.values[1] < s.seen.values[2]);
    s.feed.finish();
    s.settle();
}

TEST_CASE("a caller that does not read slows the producer and loses nothing")
{
    stage s({.interval = 0ms, .heartbeat = 1h, .unsent = 4});
    s.seen.full = true;
    bool added = false;
    s.start(s.feed.run());
    s.start(s.feed.add("1"));
    asio::co_spawn(s.io, s.feed.add("23456"), [&](std::exception_ptr) { added = true; });
    s.settle();
    CHECK_FALSE(added);
    s.seen.open();
    while (!added) s.io.run_one();
    s.feed.finish();
    s.settle();
    CHECK(s.seen.all() == "123456");
}
