#include "async/event.hpp"

#include "async/task_group.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

#include <boost/asio/post.hpp>

#include <memory>
#include <optional>

using namespace cmcp;
using namespace std::chrono_literals;

namespace {

// How the wait of a coroutine ended.
struct fate {
    bool woken = false;
    bool in_time = false;
    bool aborted = false;
};

awaitable<> wait_once(event& changed, fate& mine, event::clock::time_point limit = event::clock::time_point::max())
{
    try {
        mine.in_time = co_await changed.wait(limit);
        mine.woken = true;
    } catch (const boost::system::system_error& failure) {
        mine.aborted = failure.code() == asio::error::operation_aborted;
    }
}

// Each of two coroutines adds 1 when the number has its remainder modulo 2, then wakes the other.
awaitable<> pass_on(event& changed, int& number, int remainder, int last)
{
    while (number < last) {
        while (number < last && number % 2 != remainder) co_await changed.wait();
        if (number < last) ++number;
        changed.notify();
    }
}

}  // namespace

TEST_CASE("an event wakes all who wait, and only them")
{
    asio::io_context io;
    task_group group(io.get_executor());
    event changed, other;
    changed.notify();
    fate first, second, elsewhere;
    group.spawn("first", wait_once(changed, first));
    group.spawn("second", wait_once(changed, second));
    group.spawn("elsewhere", wait_once(other, elsewhere));
    io.poll();
    CHECK_FALSE(first.woken);
    changed.notify();
    changed.notify();
    io.poll();
    CHECK(first.woken);
    CHECK(first.in_time);
    CHECK(second.woken);
    CHECK_FALSE(elsewhere.woken);
    other.notify();
    io.poll();
    CHECK(elsewhere.woken);
}

TEST_CASE("an event loses no notification between two coroutines that take turns")
{
    asio::io_context io;
    task_group group(io.get_executor());
    event changed;
    int number = 0;
    group.spawn("even", pass_on(changed, number, 0, 10'000));
    group.spawn("odd", pass_on(changed, number, 1, 10'000));
    const bool ended = test::run_coroutine(io, group.wait_idle(20s));
    CHECK(ended);
    CHECK(number == 10'000);
}

TEST_CASE("a wait for an event ends at its limit")
{
    asio::io_context io;
    event changed;
    fate late;
    test::run_coroutine(io, wait_once(changed, late, event::clock::now() + 1ms));
    CHECK(late.woken);
    CHECK_FALSE(late.in_time);
}

TEST_CASE("a wait for an event that is cancelled is aborted, even when it was notified, and leaves nothing behind")
{
    for (const bool notified : {false, true}) {
        asio::io_context io;
        task_group group(io.get_executor());
        event changed;
        fate waits;
        group.spawn("waits", wait_once(changed, waits));
        io.poll();
        asio::post(io, [&] {
            if (notified) changed.notify();
            group.cancel_all();
            if (notified) changed.notify();
        });
        io.poll();
        CHECK(waits.aborted);
        CHECK(group.size() == 0);
        changed.notify();
    }
}

TEST_CASE("an event that is destroyed aborts its waits")
{
    asio::io_context io;
    task_group group(io.get_executor());
    auto changed = std::make_unique<event>();
    fate waits;
    group.spawn("waits", wait_once(*changed, waits));
    io.poll();
    changed.reset();
    io.poll();
    CHECK(waits.aborted);
}

TEST_CASE("an event and the frames that wait for it may end in any order")
{
    for (const bool event_first : {false, true}) {
        auto io = std::make_unique<asio::io_context>();
        std::optional<event> changed(std::in_place);
        fate waits;
        asio::co_spawn(*io, wait_once(*changed, waits), [](const std::exception_ptr&) {});
        io->poll();
        if (event_first) changed.reset();
        io.reset();
        if (!event_first) changed->notify();
        CHECK_FALSE(waits.woken);
    }
}
