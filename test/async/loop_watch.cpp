#include "async/loop_watch.hpp"

#include "async/asio.hpp"

#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <thread>
#include <vector>

using namespace cmcp;
using std::chrono::milliseconds;

namespace {

void compute_for(milliseconds time)
{
    const auto end = test::thread_time() + time;
    while (test::thread_time() < end) {
    }
}

struct watched_loop {
    asio::io_context io;
    std::vector<step_figures> slow;
    loop_watch watch{[this](const step_figures& step) { slow.push_back(step); }};
};

}  // namespace

TEST_CASE("a step that computes for too long is told, with what it did and where it was")
{
    watched_loop loop;
    asio::post(loop.io, [] {
        loop_steps::name("a long sum");
        compute_for(milliseconds(40));
    });
    asio::post(loop.io, [] {});
    loop.io.run();
    REQUIRE(!loop.slow.empty());
    const auto& step = loop.slow.front();
    CHECK(step.took >= milliseconds(40));
    CHECK(step.used >= milliseconds(40));
    CHECK(step.what == "a long sum");
    CHECK(step.at.starts_with("0x"));
    CHECK(loop.watch.longest().what == "a long sum");
    CHECK(loop.watch.slow_steps() == loop.slow.size());
}

TEST_CASE("a step that waits takes its time without using the processor")
{
    watched_loop loop;
    asio::post(loop.io, [] { std::this_thread::sleep_for(milliseconds(30)); });
    loop.io.run();
    REQUIRE(!loop.slow.empty());
    CHECK(loop.slow.front().took >= milliseconds(30));
    CHECK(loop.slow.front().used < milliseconds(20));
    CHECK(loop.slow.front().what.empty());
}

TEST_CASE("the time between steps is nobody's, and handlers called by a handler are of its step")
{
    watched_loop loop;
    asio::steady_timer timer(loop.io, milliseconds(30));
    timer.async_wait([&](auto) {
        asio::dispatch(loop.io, [] { compute_for(milliseconds(8)); });
        asio::dispatch(loop.io, [] { compute_for(milliseconds(8)); });
    });
    loop.io.run();
    std::chrono::nanoseconds most{};
    for (const auto& step : loop.slow) most = std::max(most, step.used);
    CHECK(most >= milliseconds(16));
    CHECK(loop.watch.longest().used == most);
}

TEST_CASE("a thread without a watch, and one whose watch has ended, are not measured")
{
    std::size_t before = 0;
    asio::io_context io;
    {
        const loop_watch watch([&](const step_figures&) { ++before; });
    }
    asio::post(io, [] { compute_for(milliseconds(10)); });
    io.run();
    CHECK(before == 0);
    CHECK(loop_steps::of_thread().ended == nullptr);
}
