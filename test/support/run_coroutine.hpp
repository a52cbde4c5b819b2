#pragma once

#include "async/with_deadline.hpp"

#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <optional>

namespace cmcp::test {

/// Runs a coroutine on `io` to its end and returns its value. The caller gets the coroutine's exception, or
/// deadline_exceeded when the coroutine hangs.
template <class T>
T run_coroutine(asio::io_context& io, awaitable<T> work, std::chrono::seconds limit = std::chrono::seconds(20))
{
    std::exception_ptr failure;
    bool done = false;
    if constexpr (std::is_void_v<T>) {
        asio::co_spawn(io, with_deadline(std::move(work), limit), [&](std::exception_ptr e) {
            failure = e;
            done = true;
        });
        io.restart();
        while (!done && io.run_one() != 0) {
        }
        if (failure) std::rethrow_exception(failure);
        if (!done) throw std::runtime_error("the coroutine never ended: nothing left to run");
    } else {
        std::optional<T> value;
        asio::co_spawn(io, with_deadline(std::move(work), limit), [&](std::exception_ptr e, T result) {
            failure = e;
            done = true;
            if (!e) value.emplace(std::move(result));
        });
        io.restart();
        while (!done && io.run_one() != 0) {
        }
        if (failure) std::rethrow_exception(failure);
        if (!value) throw std::runtime_error("the coroutine never ended: nothing left to run");
        return std::move(*value);
    }
}

}  // namespace cmcp::test
