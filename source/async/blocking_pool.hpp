#pragma once

#include "async/event.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace cmcp {

/// Threads for system calls that may block on a disk. The pool must be destroyed before the io_context of its callers;
/// the destructor waits for the work that has begun.
class blocking_pool {
public:
    explicit blocking_pool(std::size_t threads = 2);
    blocking_pool(const blocking_pool&) = delete;
    blocking_pool& operator=(const blocking_pool&) = delete;
    ~blocking_pool();

    /// Calls `work` on a thread of the pool and returns its value, or rethrows what it threw, on the caller's executor.
    /// A cancelled coroutine goes on at once with operation_aborted. Work that has begun runs to its end and its value
    /// is dropped; other work is not called. `work` must own its data.
    template <class F>
    awaitable<std::invoke_result_t<F&>> run(F work);

private:
    class job;
    template <class F>
    class job_of;

    static awaitable<> wait(std::shared_ptr<job> item);
    void start(std::shared_ptr<job> item);

    asio::thread_pool threads_;
};

/// The state that the io thread and a pool thread share. The pool thread writes the outcome before it posts finish() to
/// the io thread, which alone touches `finished` and the event, so nothing needs a lock.
class blocking_pool::job {
public:
    explicit job(asio::any_io_executor io) : executor(std::move(io)) {}
    virtual ~job() = default;
    virtual void call() = 0;

    const asio::any_io_executor executor;
    event ready;
    std::atomic<bool> abandoned = false;
    bool finished = false;
    std::exception_ptr failure;
};

template <class F>
class blocking_pool::job_of final : public job {
    using result = std::invoke_result_t<F&>;

public:
    job_of(asio::any_io_executor executor, F work) : job(executor), work_(std::move(work)) {}
    void call() override
    {
        if constexpr (std::is_void_v<result>)
            work_();
        else
            value.emplace(work_());
    }

    std::conditional_t<std::is_void_v<result>, std::monostate, std::optional<result>> value;

private:
    F work_;
};

template <class F>
awaitable<std::invoke_result_t<F&>> blocking_pool::run(F work)
{
    auto executor = co_await asio::this_coro::executor;
    auto item = std::make_shared<job_of<F>>(executor, std::move(work));
    start(item);
    co_await wait(item);
    if (item->failure) std::rethrow_exception(item->failure);
    if constexpr (!std::is_void_v<std::invoke_result_t<F&>>) co_return std::move(*item->value);
}

}  // namespace cmcp
