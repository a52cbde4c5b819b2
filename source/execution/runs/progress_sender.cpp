#include "runs/progress_sender.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t most_steps = 64;
constexpr std::size_t weight_of_a_piece = 64;  // beside its text, so that many small ones are bounded as well

bool is_count(const std::string& text) { return text.starts_with("received "); }

}  // namespace

progress_sender::progress_sender(request_io& io, pace limits)
    : io_(io), pace_(limits), began_(clock::now()), last_sent_(began_), last_progress_(began_)
{
}

awaitable<> progress_sender::add(output_stream from, std::string text)
{
    if (text.empty()) co_return;
    const bool first = unsent_.empty();
    keep(from, std::move(text));
    if (first) wake_.notify();
    while (unsent_bytes_ >= pace_.unsent && !finished_) co_await drained_.wait();
}

void progress_sender::keep(output_stream from, std::string text)
{
    auto& offset = offsets_[static_cast<std::size_t>(from)];
    const std::uint64_t begins = std::exchange(offset, offset + text.size());
    unsent_bytes_ += text.size();
    if (!unsent_.empty() && unsent_.back().from == from) {
        unsent_.back().text += text;
        return;
    }
    unsent_bytes_ += weight_of_a_piece;
    unsent_.push_back({from, begins, std::move(text)});
}

void progress_sender::step(std::string text)
{
    if (!steps_.empty() && is_count(steps_.back()) && is_count(text)) steps_.pop_back();
    if (steps_.size() < most_steps) steps_.push_back(std::move(text));
    wake_.notify();
}

void progress_sender::finish()
{
    finished_ = true;
    wake_.notify();
    drained_.notify();
}

progress_sender::clock::time_point progress_sender::next_time() const
{
    // The rest goes at once, because the answer must not wait for the interval.
    if (finished_ || (!sent_any_ && anything_unsent())) return clock::time_point::min();
    const auto alive = last_progress_ + pace_.heartbeat;
    return anything_unsent() ? std::min(last_sent_ + pace_.interval, alive) : alive;
}

awaitable<> progress_sender::send_steps()
{
    auto steps = std::exchange(steps_, {});
    for (auto& text : steps) {
        json::value data = json::string(text);
        co_await io_.log(log_severity::info, "web", std::move(data));
    }
}

awaitable<> progress_sender::send_output()
{
    auto texts = std::exchange(unsent_, {});
    unsent_bytes_ = 0;
    drained_.notify();
    const std::chrono::duration<double, std::milli> passed = clock::now() - began_;
    std::string no_message;
    if (texts.empty())
        co_await io_.progress(passed.count(), std::nullopt, std::move(no_message));
    else
        co_await io_.output(passed.count(), std::move(texts));
    last_progress_ = clock::now();
}

// A client that resets its timeout by progress is not helped by log messages: the heartbeat does not wait for them.
awaitable<> progress_sender::send()
{
    sent_any_ = true;
    last_sent_ = clock::now();
    if (!steps_.empty()) co_await send_steps();
    const bool late = clock::now() >= last_progress_ + pace_.heartbeat;
    if (late || !unsent_.empty()) co_await send_output();
    last_sent_ = clock::now();
}

awaitable<> progress_sender::run()
{
    while (!finished_ || anything_unsent()) {
        const clock::time_point due = next_time();
        if (clock::now() < due)
            co_await wake_.wait(due);
        else
            co_await send();
    }
}

}  // namespace cmcp
