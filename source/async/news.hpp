#pragma once

#include "async/asio.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <memory>
#include <set>

namespace cmcp {

/// Wakes all who wait for something to have changed; they look themselves what it was. Io thread only.
class news {
public:
    using clock = std::chrono::steady_clock;

    explicit news(asio::any_io_executor executor) : executor_(std::move(executor)) {}

    void tell()
    {
        const auto told = *waiting_;  // who is woken leaves the set
        for (auto* timer : told) timer->cancel();
    }

    /// Until the next tell(), at most until `limit`. Throws operation_aborted when cancelled.
    awaitable<> wait(clock::time_point limit)
    {
        asio::steady_timer timer(executor_, limit);
        struct member {
            std::shared_ptr<std::set<asio::steady_timer*>> of;
            asio::steady_timer* self;
            ~member() { of->erase(self); }
        } listed{waiting_, &timer};
        waiting_->insert(&timer);
        co_await timer.async_wait(as_tuple);
        const auto state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none)
            throw boost::system::system_error(asio::error::operation_aborted);
    }

private:
    asio::any_io_executor executor_;
    std::shared_ptr<std::set<asio::steady_timer*>> waiting_ = std::make_shared<std::set<asio::steady_timer*>>();
};

}  // namespace cmcp
