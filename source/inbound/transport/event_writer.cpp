#include "transport/event_writer.hpp"

#include "async/sized_work.hpp"

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

namespace {

std::optional<event_id> logged_id(const event_stream& from, const event_stream::item& message)
{
    return from.has_log() ? std::optional(from.id_of(message)) : std::nullopt;
}

}  // namespace

void append_message(std::string& out, const event_stream& from, const event_stream::item& message)
{
    append_event(out, "message", message.text(), logged_id(from, message));
}

awaitable<bool> write_messages(stream_body to, std::shared_ptr<event_stream> from, event_stream::items messages)
{
    std::string small;
    bool delivered = true;
    for (std::size_t i = 0; delivered && i != messages.size(); ++i) {
        const auto& each = messages[i];
        if (each.text().size() <= most_on_loop) {
            append_message(small, *from, each);
            continue;
        }
        auto event = write_event(to, std::exchange(small, {}), "message", each.text(), logged_id(*from, each));
        delivered = co_await std::move(event);
    }
    if (delivered && !small.empty()) delivered = co_await to.write(small);
    co_return delivered;
}

awaitable<bool> write_event(stream_body to, std::string before, std::string_view name, std::string_view data,
                            std::optional<event_id> id)
{
    const bool in_parts = !has_line_ends(data);
    if (in_parts)
        append_event_head(before, name, id);
    else
        append_event(before, name, data, id);
    bool delivered = co_await to.write(before);
    if (!in_parts) co_return delivered;
    if (delivered && !data.empty()) delivered = co_await to.write(data);
    if (delivered) delivered = co_await to.write("\n\n");
    co_return delivered;
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
            delivered = co_await self.write_out();
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
awaitable<bool> event_writer::write_out()
{
    auto messages = from_->take();
    if (messages.empty()) return to_.write(": keep-alive\n\n");
    return write_messages(to_, from_, std::move(messages));
}

bool event_writer::late() const { return steady_clock::now() >= quiet_at_; }

milliseconds event_writer::patience() const { return longest_wait(time_until(quiet_at_), watching_); }

void event_writer::watch()
{
    watching_ = true;
    to_.watch(waker_of(from_));
}

}  // namespace cmcp
