#pragma once

#include "async/asio.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <type_traits>

namespace cmcp {

/// Thrown by with_deadline when the time is over before the work is done.
struct deadline_exceeded : std::runtime_error {
    deadline_exceeded() : std::runtime_error("deadline exceeded") {}
};

/// Runs `work`. When `limit` passes first, cancels the work, waits for its end and throws deadline_exceeded.
/// (A plain `work || timer` hides an early exception until the timer fires under Asio 1.26.)
template <class T>
awaitable<T> with_deadline(awaitable<T> work, std::chrono::steady_clock::duration limit)
{
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, limit);
    auto group = asio::experimental::make_parallel_group(asio::co_spawn(executor, std::move(work), asio::deferred),
                                                         timer.async_wait(asio::deferred));
    if constexpr (std::is_void_v<T>) {
        auto [order, failure, timer_error] =
            co_await group.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
        if (order[0] == 1 && !timer_error) throw deadline_exceeded();
        if (failure) std::rethrow_exception(failure);
        co_return;
    } else {
        auto [order, failure, value, timer_error] =
            co_await group.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
        if (order[0] == 1 && !timer_error) throw deadline_exceeded();
        if (failure) std::rethrow_exception(failure);
        co_return std::move(value);
    }
}

}  // namespace cmcp
