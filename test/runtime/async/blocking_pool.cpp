#include "async/blocking_pool.hpp"

#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace cmcp;
using cmcp::test::run_coroutine;

namespace {

awaitable<std::thread::id> where(blocking_pool& pool)
{
    auto work = [] { return std::this_thread::get_id(); };
    co_return co_await pool.run("anna", work);
}

awaitable<int> failing(blocking_pool& pool)
{
    auto work = []() -> int { throw std::runtime_error("disk on fire"); };
    co_return co_await pool.run("anna", work);
}

awaitable<std::shared_ptr<int>> waiting(blocking_pool& pool, std::shared_future<void> go, std::shared_ptr<int> value)
{
    auto work = [go, value] {
        go.wait();
        return value;
    };
    co_return co_await pool.run("anna", work);
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
                co_return co_await with.run("anna", work);
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

namespace {

using names = std::vector<std::string>;

/// Notes the order in which works are called, from any thread.
struct notes {
    std::mutex mutex;
    names order;

    void add(std::string name)
    {
        const std::lock_guard lock(mutex);
        order.push_back(std::move(name));
    }
};

sliced_work<int> slices(std::shared_ptr<notes> into, std::string name, int count, std::shared_future<void> first)
{
    const auto done = std::make_shared<int>(0);
    return [=](auto) -> std::optional<int> {
        into->add(name + std::to_string(++*done));
        if (*done == 1) first.wait();
        return *done < count ? std::nullopt : std::optional(*done);
    };
}

awaitable<int> noted(blocking_pool& pool, std::string principal, std::shared_ptr<notes> into, std::string name)
{
    auto work = [into, name] {
        into->add(name);
        return 0;
    };
    co_return co_await pool.run(std::move(principal), work);
}

}  // namespace

TEST_CASE("long work yields after a slice to those who have used less")
{
    asio::io_context io;
    std::promise<void> go;
    const auto seen = std::make_shared<notes>();
    blocking_pool pool(1);
    int result = 0;
    auto work = slices(seen, "anna", 3, go.get_future().share());
    asio::co_spawn(io, pool.run_long("anna", std::move(work)), [&](std::exception_ptr, int value) { result = value; });
    asio::co_spawn(io, noted(pool, "ben", seen, "ben"), [](std::exception_ptr, int) {});
    asio::co_spawn(io, noted(pool, "anna", seen, "anna's short one"), [](std::exception_ptr, int) {});
    io.poll();
    go.set_value();
    io.run();
    CHECK(seen->order == names{"anna1", "ben", "anna's short one", "anna2", "anna3"});
    CHECK(result == 3);
}

TEST_CASE("long work leaves a thread to short work")
{
    asio::io_context io;
    std::promise<void> go;
    const auto gate = go.get_future().share();
    const auto seen = std::make_shared<notes>();
    blocking_pool pool(2);
    int done = 0;
    const auto finish = [&](std::exception_ptr, int) { ++done; };
    for (const char* name : {"first", "second", "third"})
        asio::co_spawn(io, pool.run_long("anna", slices(seen, name, 1, gate)), finish);
    io.poll();
    CHECK(run_coroutine(io, noted(pool, "anna", seen, "short")) == 0);
    CHECK(done == 0);
    go.set_value();
    io.restart();
    while (done < 3) io.run_one();
    CHECK(seen->order == names{"first1", "short", "second1", "third1"});
}

TEST_CASE("long work that is cancelled or outlives the pool gets no further slice")
{
    asio::io_context io;
    std::promise<void> go;
    const auto gate = go.get_future().share();
    std::vector<std::exception_ptr> outcomes;
    const auto finish = [&](std::exception_ptr outcome, int) { outcomes.push_back(outcome); };
    const auto cancelled = std::make_shared<notes>();
    {
        blocking_pool pool(3);
        asio::cancellation_signal cancel;
        asio::co_spawn(io, pool.run_long("anna", slices(cancelled, "", 1000, gate)),
                       asio::bind_cancellation_slot(cancel.slot(), finish));
        sliced_work<int> endless = [](auto) { return std::optional<int>(); };
        asio::co_spawn(io, pool.run_long("ben", std::move(endless)), finish);
        io.poll();
        cancel.emit(asio::cancellation_type::terminal);
        while (outcomes.empty()) io.run_one();
        go.set_value();
    }
    while (outcomes.size() < 2) io.run_one();
    CHECK(cancelled->order.size() <= 1);
    for (const auto& outcome : outcomes) CHECK_THROWS_AS(std::rethrow_exception(outcome), boost::system::system_error);
}
