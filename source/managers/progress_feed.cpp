#include "managers/progress_feed.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <utility>

namespace cmcp {

progress_feed::progress_feed(asio::any_io_executor executor, request_io& io, pace chosen)
    : io_(io), pace_(chosen), wake_(executor), drained_(executor, clock::time_point::max()), began_(clock::now()),
      last_sent_(began_)
{
}

awaitable<> progress_feed::add(std::string text)
{
    if (text.empty()) co_return;
    const bool first = unsent_.empty();
    unsent_ += text;
    if (first) wake_.cancel();
    while (unsent_.size() >= pace_.unsent && !finished_) {
        co_await drained_.async_wait(as_tuple);
        auto state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none)
            throw boost::system::system_error(asio::error::operation_aborted);
    }
}

void progress_feed::finish()
{
    finished_ = true;
    wake_.cancel();
    drained_.cancel();
}

progress_feed::clock::time_point progress_feed::next_time() const
{
    // The run's answer must not wait for the interval: the last text goes at once, as the first does.
    if (finished_ || (!sent_any_ && !unsent_.empty())) return clock::time_point::min();
    if (unsent_.empty() && !io_.wants_signs_of_life()) return clock::time_point::max();
    return last_sent_ + (unsent_.empty() ? pace_.heartbeat : pace_.interval);
}

std::string progress_feed::sign_of_life() const
{
    const auto passed = std::chrono::duration_cast<std::chrono::seconds>(clock::now() - began_);
    return "still running, " + std::to_string(passed.count()) + " s";
}

awaitable<> progress_feed::send(std::string message)
{
    last_sent_ = clock::now();
    sent_any_ = true;
    const std::chrono::duration<double, std::milli> passed = last_sent_ - began_;
    co_await io_.progress(passed.count(), std::nullopt, std::move(message));
    last_sent_ = clock::now();
}

awaitable<> progress_feed::run()
{
    while (!finished_ || !unsent_.empty()) {
        const clock::time_point due = next_time();
        if (clock::now() < due) {
            wake_.expires_at(due);
            co_await wake_.async_wait(as_tuple);
            auto state = co_await asio::this_coro::cancellation_state;
            if (state.cancelled() != asio::cancellation_type::none)
                throw boost::system::system_error(asio::error::operation_aborted);
            continue;
        }
        std::string message = unsent_.empty() ? sign_of_life() : std::exchange(unsent_, {});
        drained_.cancel();
        co_await send(std::move(message));
    }
}

}  // namespace cmcp
