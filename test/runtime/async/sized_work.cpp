#include "async/sized_work.hpp"

#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"

#include <memory>
#include <stdexcept>
#include <thread>

using namespace cmcp;
using cmcp::test::run_coroutine;

namespace {

awaitable<std::thread::id> thread_for(blocking_pool& pool, std::size_t bytes)
{
    auto work = [] { return std::this_thread::get_id(); };
    auto id = co_await by_size(pool, "anna", bytes, std::move(work));
    co_return id;
}

awaitable<std::unique_ptr<int>> moved(blocking_pool& pool, std::size_t bytes)
{
    auto work = [value = std::make_unique<int>(7)]() mutable { return std::move(value); };
    auto value = co_await by_size(pool, "anna", bytes, std::move(work));
    co_return value;
}

awaitable<int> fail_in(blocking_pool& pool, std::size_t bytes)
{
    auto work = []() -> int { throw std::runtime_error("not this one"); };
    auto value = co_await by_size(pool, "anna", bytes, std::move(work));
    co_return value;
}

}  // namespace

TEST_CASE("work over many bytes leaves the loop, work over few does not")
{
    asio::io_context io;
    blocking_pool pool;
    CHECK(run_coroutine(io, thread_for(pool, most_on_loop)) == std::this_thread::get_id());
    CHECK(run_coroutine(io, thread_for(pool, most_on_loop + 1)) != std::this_thread::get_id());
}

TEST_CASE("work of any size gives its value or what it threw")
{
    asio::io_context io;
    blocking_pool pool;
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 30}) {
        CHECK(*run_coroutine(io, moved(pool, bytes)) == 7);
        CHECK_THROWS_WITH(run_coroutine(io, fail_in(pool, bytes)), "not this one");
    }
}
