#include "async/loop_watch.hpp"

#include "async/asio.hpp"

#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <csignal>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace cmcp;
using std::chrono::milliseconds;

namespace {

void compute_for(milliseconds time)
{
    const auto end = test::thread_time() + time;
    while (test::thread_time() < end) {
    }
}

volatile std::sig_atomic_t expirations = 0;

void count_expiration(int) { expirations = expirations + 1; }

// Computes until the kernel has seen twice that `time` of the processor passed on this thread: a machine that stood
// still meanwhile counts what it missed as used, and looks at its timers once.
void compute_until_seen(milliseconds time)
{
    struct sigaction action {};
    action.sa_handler = count_expiration;
    REQUIRE(::sigaction(SIGVTALRM, &action, nullptr) == 0);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGVTALRM;
    event._sigev_un._tid = ::gettid();
    timer_t timer{};
    REQUIRE(::timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0);
    const timespec every{0, std::chrono::nanoseconds(time).count()};
    const itimerspec times{every, every};
    expirations = 0;
    ::timer_settime(timer, 0, &times, nullptr);
    while (expirations < 2) {
    }
    ::timer_delete(timer);
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
        compute_until_seen(milliseconds(20));
    });
    asio::post(loop.io, [] {});
    loop.io.run();
    REQUIRE(!loop.slow.empty());
    const auto& step = loop.slow.front();
    CHECK(step.took >= milliseconds(20));
    CHECK(step.used >= milliseconds(20));
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
