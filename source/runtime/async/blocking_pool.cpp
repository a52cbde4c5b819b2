#include "async/blocking_pool.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>

namespace cmcp {

namespace {

// Long enough that a change of work costs little, short enough that nobody notices the wait for it.
constexpr std::chrono::milliseconds slice(10);

}  // namespace

blocking_pool::blocking_pool(std::size_t threads) : most_long_(std::max<std::size_t>(2, threads) - 1)
{
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

blocking_pool::~blocking_pool()
{
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
}

void blocking_pool::put(queue::piece added)
{
    {
        const std::lock_guard lock(mutex_);
        queue_.put(std::move(added));
    }
    wake_.notify_one();
}

// Long work that waits when the pool ends is only given up, which takes no time.
std::optional<blocking_pool::queue::piece> blocking_pool::take()
{
    return queue_.take(ending_ || long_ones_ < most_long_);
}

void blocking_pool::serve()
{
    std::unique_lock lock(mutex_);
    for (;;) {
        auto next = take();
        if (next)
            work_on(std::move(*next), lock);
        else if (ending_)
            return;
        else
            wake_.wait(lock);
    }
}

void blocking_pool::work_on(queue::piece next, std::unique_lock<std::mutex>& lock)
{
    long_ones_ += next.is_long ? 1 : 0;
    if (next.is_long && ending_) next.work->abandoned = true;
    lock.unlock();
    const auto began = clock::now();
    const bool more = go_on(*next.work);
    const auto used = clock::now() - began;
    std::string principal = next.principal;
    if (!more) deliver(std::move(next.work));
    lock.lock();
    const bool was_long = next.is_long;
    long_ones_ -= was_long ? 1 : 0;
    if (more) queue_.put(std::move(next));
    queue_.charge(principal, used);
    if (was_long) wake_.notify_one();  // this thread may take other work than the long one that may begin now
}

// Whether there is more to do.
bool blocking_pool::go_on(job& item)
{
    try {
        if (!item.abandoned) return !item.call(clock::now() + slice);
        const auto aborted = boost::system::error_code(asio::error::operation_aborted);
        item.failure = std::make_exception_ptr(boost::system::system_error(aborted));
    } catch (...) {
        item.failure = std::current_exception();
    }
    return false;
}

// The job is handed over whole, so that its end never happens on a thread of the pool.
void blocking_pool::deliver(std::shared_ptr<job> item)
{
    auto executor = item->executor;
    asio::post(executor, [item = std::move(item)] {
        item->finished = true;
        item->ready.notify();
    });
}

awaitable<> blocking_pool::finished(queue::piece added)
{
    const auto item = added.work;
    put(std::move(added));
    // Also when the coroutine's frame is destroyed: work that has not begun is then not called.
    struct abandon_at_end {
        job& watched;
        ~abandon_at_end() { watched.abandoned = true; }
    } guard{*item};
    while (!item->finished) co_await item->ready.wait();
    if (item->failure) std::rethrow_exception(item->failure);
}

}  // namespace cmcp
