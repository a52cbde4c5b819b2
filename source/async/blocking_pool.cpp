#include "async/blocking_pool.hpp"

namespace cmcp {

blocking_pool::blocking_pool(std::size_t threads) : threads_(threads) {}

blocking_pool::~blocking_pool() { threads_.join(); }

void blocking_pool::start(std::shared_ptr<job> item)
{
    asio::post(threads_, [item = std::move(item)]() mutable {
        if (item->abandoned) return;
        try {
            item->call();
        } catch (...) {
            item->failure = std::current_exception();
        }
        // The job is handed over whole, so that its end never happens on this thread.
        auto executor = item->executor;
        asio::post(executor, [item = std::move(item)] {
            item->finished = true;
            item->ready.notify();
        });
    });
}

awaitable<> blocking_pool::wait(std::shared_ptr<job> item)
{
    // Also when the coroutine's frame is destroyed: work that has not begun is then not called.
    struct abandon_at_end {
        job& watched;
        ~abandon_at_end() { watched.abandoned = true; }
    } guard{*item};
    while (!item->finished) co_await item->ready.wait();
}

}  // namespace cmcp
