#include "transport/event_writer.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds unwatched(50);  // see longest_wait()

}  // namespace

milliseconds time_until(steady_clock::time_point at)
{
    return std::chrono::duration_cast<milliseconds>(at - steady_clock::now()) + milliseconds(1);
}

milliseconds longest_wait(milliseconds left, bool watching)
{
    return std::max(watching ? left : std::min(left, unwatched), milliseconds(0));
}

std::function<void()> waker_of(const std::shared_ptr<event_stream>& stream)
{
    return [weak = std::weak_ptr(stream)] {
        if (auto waiting = weak.lock()) waiting->wake();
    };
}

void append_message(std::string& out, const event_stream& from, const event_stream::item& message)
{
    auto id = from.has_log() ? std::optional(from.id_of(message)) : std::nullopt;
    append_event(out, "message", message.text(), id);
}

event_writer::event_writer(stream_body to, std::shared_ptr<event_stream> from, event_stream::consumer who,
                           milliseconds keep_alive, std::optional<canceller_at_end> ends)
    : to_(to),
      from_(std::move(from)),
      who_(who),
      keep_alive_(keep_alive),
      quiet_at_(steady_clock::now() + keep_alive),
      ends_(std::move(ends))
{
}

// The frame of this coroutine is what a stream costs while it waits: what is awaited here has no further ones.
awaitable<bool> event_writer::run(event_writer self)
{
    bool delivered = true;
    while (delivered && self.goes_on()) {
        if (!self.from_->queued().empty() || self.late()) {
            const auto text = self.frames();
            delivered = co_await self.to_.write(text);
            self.quiet_at_ = steady_clock::now() + self.keep_alive_;
        } else if (self.to_.gone()) {
            delivered = false;
        } else {
            auto& news = self.from_->news(self.patience());
            auto [cancelled] = co_await news.async_wait(as_tuple);
            if (!cancelled && !self.watching_) self.watch();
        }
    }
    self.from_->detach(self.who_);
    if (delivered) delivered = co_await self.to_.end();
    co_return delivered;
}

bool event_writer::goes_on()
{
    if (auto silent = from_->set_aside(who_)) {
        from_ = std::move(silent);
        who_ = from_->attach();
        if (watching_) watch();
    }
    return !from_->ended(who_);
}

// With nothing queued, a comment keeps proxies and clients from closing a silent stream.
std::string event_writer::frames()
{
    std::string text;
    for (const auto& each : from_->take()) append_message(text, *from_, each);
    if (text.empty()) text = ": keep-alive\n\n";
    return text;
}

bool event_writer::late() const { return steady_clock::now() >= quiet_at_; }

milliseconds event_writer::patience() const { return longest_wait(time_until(quiet_at_), watching_); }

void event_writer::watch()
{
    watching_ = true;
    to_.watch(waker_of(from_));
}

}  // namespace cmcp
