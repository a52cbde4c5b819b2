#pragma once

#include "async/asio.hpp"
#include "mcp/request_io.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace cmcp {

/// Sends the steps of one call to its caller: at most a message every 50 ms, steps that came together as lines of one
/// message; a count of bytes replaces the one before it; a sign of life when nothing was sent for 10 s.
class web_progress {
public:
    web_progress(asio::any_io_executor executor, request_io& io);

    void step(std::string text);  ///< never waits
    void finish();                ///< run() sends the rest and returns
    awaitable<> run();

private:
    using clock = std::chrono::steady_clock;
    std::string message();

    request_io& io_;
    asio::steady_timer wake_;
    std::vector<std::string> steps_;
    clock::time_point began_ = clock::now();
    clock::time_point last_sent_;
    bool finished_ = false;
    bool sent_any_ = false;
};

template <class T>
awaitable<T> finish_after(awaitable<T> work, web_progress& progress)
{
    T value = co_await std::move(work);
    progress.finish();
    co_return value;
}

/// Runs `work` and sends its steps meanwhile, when the caller wants them. Whichever fails ends the other.
template <class T>
awaitable<T> with_progress(request_io& io, web_progress& progress, awaitable<T> work)
{
    if (!io.wants_progress()) {
        T value = co_await std::move(work);
        co_return value;
    }
    auto executor = co_await asio::this_coro::executor;
    auto finishing = finish_after(std::move(work), progress);
    auto group = asio::experimental::make_parallel_group(asio::co_spawn(executor, std::move(finishing), asio::deferred),
                                                         asio::co_spawn(executor, progress.run(), asio::deferred));
    auto [order, failure, value, sending_failure] =
        co_await group.async_wait(asio::experimental::wait_for_one_error(), asio::use_awaitable);
    if (order[0] == 1 && sending_failure) std::rethrow_exception(sending_failure);
    if (failure) std::rethrow_exception(failure);
    if (sending_failure) std::rethrow_exception(sending_failure);
    co_return std::move(value);
}

}  // namespace cmcp
