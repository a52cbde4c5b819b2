#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>

namespace cmcp {

/// Calls `expired` once when nothing was reported for a while. For connections that are read and written at the same
/// time, where a deadline on one direction would cut a busy other one.
class idle_watch {
public:
    idle_watch(boost::asio::any_io_executor executor, std::chrono::milliseconds limit, std::function<void()> expired)
        : state_(std::make_shared<state>(executor, limit, std::move(expired)))
    {
        state::wait(state_);
    }
    idle_watch(const idle_watch&) = delete;
    idle_watch& operator=(const idle_watch&) = delete;
    ~idle_watch() { state_->timer.cancel(); }

    void moved() { state_->last = clock::now(); }

    void change_limit(std::chrono::milliseconds limit)
    {
        state_->limit = limit;
        moved();
        state_->timer.expires_at(state_->last + limit);
        state::wait(state_);
    }

private:
    using clock = std::chrono::steady_clock;
    struct state {
        state(boost::asio::any_io_executor executor, std::chrono::milliseconds most, std::function<void()> action)
            : timer(executor, most), limit(most), expired(std::move(action))
        {
        }
        static void wait(const std::shared_ptr<state>& self)
        {
            self->timer.async_wait([weak = std::weak_ptr(self)](boost::system::error_code failure) {
                const auto me = weak.lock();
                if (failure || !me) return;
                if (clock::now() >= me->last + me->limit) return me->expired();
                me->timer.expires_at(me->last + me->limit);
                wait(me);
            });
        }
        boost::asio::steady_timer timer;
        std::chrono::milliseconds limit;
        std::function<void()> expired;
        clock::time_point last = clock::now();
    };
    std::shared_ptr<state> state_;
};

}  // namespace cmcp
