#include "async/blocking_pool.hpp"

#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <future>
#include <memory>
#include <thread>

using namespace cmcp;
using cmcp::test::run_coroutine;

namespace {

awaitable<std::thread::id> where(blocking_pool& pool)
{
    auto work = [] { return std::this_thread::get_id(); };
    co_return co_await pool.run(work);
}

awaitable<int> failing(blocking_pool& pool)
{
    auto work = []() -> int { throw std::runtime_error("disk on fire"); };
    co_return co_await pool.run(work);
}

awaitable<std::shared_ptr<int>> waiting(blocking_pool& pool, std::shared_future<void> go, std::shared_ptr<int> value)
{
    auto work = [go, value] {
        go.wait();
        return value;
    };
    co_return co_await pool.run(work);
}

}  // namespace

TEST_CASE("blocking pool calls the work on another thread and comes back with its value")
{
    asio::io_context io;
    blocking_pool pool;
    const auto id = run_coroutine(io, where(pool));
    CHECK(id != std::this_thread::get_id());
    for (int i = 0; i < 1000; ++i) run_coroutine(io, where(pool));
}

TEST_CASE("blocking pool rethrows what the work threw")
{
    asio::io_context io;
    blocking_pool pool;
    CHECK_THROWS_WITH(run_coroutine(io, failing(pool)), "disk on fire");
}

TEST_CASE("blocking pool lets a cancelled coroutine go at once and drops the value of its work")
{
    asio::io_context io;
    std::promise<void> go;
    std::shared_future<void> gate = go.get_future();
    auto value = std::make_shared<int>(1);
    {
        blocking_pool pool(1);
        asio::cancellation_signal cancel;
        std::exception_ptr outcome;
        bool done = false;
        const auto finish = [&](std::exception_ptr e, std::shared_ptr<int>) {
            outcome = e;
            done = true;
        };
        asio::co_spawn(io, waiting(pool, gate, value), asio::bind_cancellation_slot(cancel.slot(), finish));
        io.poll();
        cancel.emit(asio::cancellation_type::terminal);
        while (!done) io.run_one();  // the work still waits for the gate
        REQUIRE(outcome);
        try {
            std::rethrow_exception(outcome);
        } catch (const boost::system::system_error& e) {
            CHECK(e.code() == asio::error::operation_aborted);
        }
        go.set_value();
    }
    io.restart();
    io.run();
    CHECK(value.use_count() == 1);
}

TEST_CASE("blocking pool does not call work that was given up before it began")
{
    asio::io_context io;
    std::promise<void> go;
    std::shared_future<void> gate = go.get_future();
    std::atomic<bool> called = false;
    {
        blocking_pool pool(1);
        asio::cancellation_signal cancel;
        int done = 0;
        const auto finish = [&](std::exception_ptr, auto) { ++done; };
        asio::co_spawn(io, waiting(pool, gate, nullptr), finish);
        struct second {
            static awaitable<bool> call(blocking_pool& with, std::atomic<bool>& flag)
            {
                auto work = [&flag] { return flag = true; };
                co_return co_await with.run(work);
            }
        };
        asio::co_spawn(io, second::call(pool, called), asio::bind_cancellation_slot(cancel.slot(), finish));
        io.poll();
        cancel.emit(asio::cancellation_type::terminal);
        while (done < 1) io.run_one();
        go.set_value();
        while (done < 2) io.run_one();
    }
    CHECK_FALSE(called);
}
