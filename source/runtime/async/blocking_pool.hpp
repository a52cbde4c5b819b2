#pragma once

#include "async/event.hpp"
#include "async/fair_queue.hpp"
#include "async/sliced_work.hpp"

#include <boost/asio/this_coro.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cmcp {

/// Threads for system calls that may block on a disk. Principals share them fairly: the next work is of the one that
/// has used the threads for the shortest time. Long work yields after each slice, and never takes the last thread.
/// The pool must be destroyed before the io_context of its callers; the destructor waits for the work that was given,
/// but long work ends after its slice.
class blocking_pool {
public:
    /// The principal of work that the server does for itself. No token has this name.
    static constexpr const char* server = "(server)";

    explicit blocking_pool(std::size_t threads = 3);
    blocking_pool(const blocking_pool&) = delete;
    blocking_pool& operator=(const blocking_pool&) = delete;
    ~blocking_pool();

    /// Calls `work` on a thread of the pool and returns its value, or rethrows what it threw, on the caller's executor.
    /// A cancelled coroutine goes on at once with operation_aborted. Work that has begun runs to its end and its value
    /// is dropped; other work is not called. `work` must own its data.
    template <class F>
    awaitable<std::invoke_result_t<F&>> run(std::string principal, F work);

    /// The same for long work, slice by slice. After a cancellation no more slices are called.
    template <class T>
    awaitable<T> run_long(std::string principal, sliced_work<T> work);

    /// Ends the life of a large value, which takes time, on a thread of the pool. `executor`: the caller's.
    template <class T>
    void discard(asio::any_io_executor executor, std::string principal, T gone);

private:
    using clock = std::chrono::steady_clock;
    class job;
    template <class F>
    class call_of;
    template <class T>
    class slices_of;
    using queue = fair_queue<std::shared_ptr<job>>;

    awaitable<> finished(queue::piece added);
    void put(queue::piece added);
    std::optional<queue::piece> take();
    void serve();
    void work_on(queue::piece next, std::unique_lock<std::mutex>& lock);
    static bool go_on(job& item);
    static void deliver(std::shared_ptr<job> item);

    std::mutex mutex_;
    std::condition_variable wake_;
    queue queue_;
    std::size_t most_long_;
    std::size_t long_ones_ = 0;  // that run at the moment
    bool ending_ = false;
    std::vector<std::thread> threads_;
};

/// The state that the io thread and a pool thread share. The pool thread writes the outcome before it posts the job to
/// the io thread, which alone touches `finished` and the event, so nothing needs a lock.
class blocking_pool::job {
public:
    explicit job(asio::any_io_executor io) : executor(std::move(io)) {}
    virtual ~job() = default;
    virtual bool call(clock::time_point until) = 0;  ///< false: there is more to do

    const asio::any_io_executor executor;
    event ready;
    std::atomic<bool> abandoned = false;
    bool finished = false;
    std::exception_ptr failure;
};

template <class F>
class blocking_pool::call_of final : public job {
    using result = std::invoke_result_t<F&>;

public:
    call_of(asio::any_io_executor executor, F work) : job(std::move(executor)), work_(std::move(work)) {}
    bool call(clock::time_point) override
    {
        if constexpr (std::is_void_v<result>)
            work_();
        else
            value.emplace(work_());
        return true;
    }

    std::conditional_t<std::is_void_v<result>, std::monostate, std::optional<result>> value;

private:
    F work_;
};

template <class T>
class blocking_pool::slices_of final : public job {
public:
    slices_of(asio::any_io_executor executor, sliced_work<T> work) : job(std::move(executor)), work_(std::move(work)) {}
    bool call(clock::time_point until) override
    {
        value = work_(until);
        return value.has_value();
    }

    std::optional<T> value;

private:
    sliced_work<T> work_;
};

template <class F>
awaitable<std::invoke_result_t<F&>> blocking_pool::run(std::string principal, F work)
{
    auto executor = co_await asio::this_coro::executor;
    auto item = std::make_shared<call_of<F>>(executor, std::move(work));
    queue::piece added{std::move(principal), false, item};
    co_await finished(std::move(added));
    if constexpr (!std::is_void_v<std::invoke_result_t<F&>>) co_return std::move(*item->value);
}

template <class T>
void blocking_pool::discard(asio::any_io_executor executor, std::string principal, T gone)
{
    auto end = [gone = std::move(gone)]() mutable { gone = T(); };
    put({std::move(principal), false, std::make_shared<call_of<decltype(end)>>(std::move(executor), std::move(end))});
}

template <class T>
awaitable<T> blocking_pool::run_long(std::string principal, sliced_work<T> work)
{
    auto executor = co_await asio::this_coro::executor;
    auto item = std::make_shared<slices_of<T>>(executor, std::move(work));
    queue::piece added{std::move(principal), true, item};
    co_await finished(std::move(added));
    co_return std::move(*item->value);
}

}  // namespace cmcp
