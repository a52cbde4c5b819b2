#pragma once

#include "async/asio.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <type_traits>

namespace cmcp {

/// Runs `work` to its end even when the awaiting coroutine is cancelled, because short work must not stop half way.
/// Cancellation that comes meanwhile takes effect at the next co_await of the caller.
template <class T>
awaitable<T> uncancelled(awaitable<T> work)
{
    auto executor = co_await asio::this_coro::executor;
    auto token = asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable);
    if constexpr (std::is_void_v<T>) {
        co_await asio::co_spawn(executor, std::move(work), token);
    } else {
        T value = co_await asio::co_spawn(executor, std::move(work), token);
        co_return value;
    }
}

}  // namespace cmcp
