#include "async/task_group.hpp"

#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

#include <boost/asio/steady_timer.hpp>

using namespace cmcp;
using namespace std::chrono_literals;

namespace {

awaitable<> sleep_long(bool& ended_early)
{
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, 1h);
    auto [error] = co_await timer.async_wait(as_tuple);
    ended_early = error == asio::error::operation_aborted;
}

awaitable<> add_one(int& count)
{
    ++count;
    co_return;
}

awaitable<> fail()
{
    throw std::runtime_error("on purpose");
    co_return;
}

}  // namespace

TEST_CASE("a task group runs its children and is idle when they have ended")
{
    asio::io_context io;
    task_group group(io.get_executor());
    int count = 0;
    for (int i = 0; i < 100; ++i) group.spawn("child", add_one(count));
    CHECK(group.size() == 100);
    CHECK(test::run_coroutine(io, group.wait_idle(5s)));
    CHECK(count == 100);
    CHECK(group.size() == 0);
}

TEST_CASE("an exception of a child stays in the group")
{
    asio::io_context io;
    task_group group(io.get_executor());
    int count = 0;
    group.spawn("failing", fail());
    group.spawn("child", add_one(count));
    CHECK(test::run_coroutine(io, group.wait_idle(5s)));
    CHECK(count == 1);
}

TEST_CASE("cancel_all ends every child")
{
    asio::io_context io;
    task_group group(io.get_executor());
    bool first = false;
    bool second = false;
    group.spawn("first", sleep_long(first));
    group.spawn("second", sleep_long(second));
    io.poll();
    io.restart();
    group.cancel_all();
    CHECK(test::run_coroutine(io, group.wait_idle(5s)));
    CHECK(first);
    CHECK(second);
}

TEST_CASE("waiting for a group gives up at its limit")
{
    asio::io_context io;
    task_group group(io.get_executor());
    bool ended = false;
    group.spawn("child", sleep_long(ended));
    CHECK_FALSE(test::run_coroutine(io, group.wait_idle(10ms)));
    CHECK(group.size() == 1);
    group.cancel_all();
    CHECK(test::run_coroutine(io, group.wait_idle(5s)));
}

TEST_CASE("children are cancelled when their group goes away")
{
    asio::io_context io;
    bool ended = false;
    {
        task_group group(io.get_executor());
        group.spawn("child", sleep_long(ended));
        io.poll();
        io.restart();
    }
    io.run();
    CHECK(ended);
}
