#include "managers/web_progress.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <utility>

namespace cmcp {
namespace {

constexpr auto interval = std::chrono::milliseconds(50);
constexpr auto heartbeat = std::chrono::seconds(10);
constexpr std::size_t most_steps = 64;

bool is_count(const std::string& text) { return text.starts_with("received "); }

}  // namespace

web_progress::web_progress(asio::any_io_executor executor, request_io& io) : io_(io), wake_(executor) {}

void web_progress::step(std::string text)
{
    if (!io_.wants_progress()) return;
    if (!steps_.empty() && is_count(steps_.back()) && is_count(text)) steps_.pop_back();
    if (steps_.size() < most_steps) steps_.push_back(std::move(text));
    wake_.cancel();
}

void web_progress::finish()
{
    finished_ = true;
    wake_.cancel();
}

std::string web_progress::message()
{
    std::string text;
    for (const auto& one : std::exchange(steps_, {})) text += (text.empty() ? "" : "\n") + one;
    const auto passed = std::chrono::duration_cast<std::chrono::seconds>(clock::now() - began_);
    return text.empty() ? "still running, " + std::to_string(passed.count()) + " s" : text;
}

awaitable<> web_progress::run()
{
    last_sent_ = began_;
    while (!finished_ || !steps_.empty()) {
        const bool at_once = finished_ || (!sent_any_ && !steps_.empty());
        const clock::time_point due =
            last_sent_ + (steps_.empty() ? clock::duration(heartbeat) : clock::duration(interval));
        if (!at_once && clock::now() < due) {
            wake_.expires_at(due);
            co_await wake_.async_wait(as_tuple);
            auto state = co_await asio::this_coro::cancellation_state;
            if (state.cancelled() != asio::cancellation_type::none)
                throw boost::system::system_error(asio::error::operation_aborted);
            continue;
        }
        std::string text = message();
        const std::chrono::duration<double, std::milli> passed = clock::now() - began_;
        sent_any_ = true;
        last_sent_ = clock::now();
        co_await io_.progress(passed.count(), std::nullopt, std::move(text));
    }
}

}  // namespace cmcp
