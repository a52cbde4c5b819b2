#include "transport/stream_writer.hpp"

#include "async/sized_work.hpp"
#include "config/http_settings.hpp"

#include <algorithm>
#include <iterator>

namespace cmcp {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr int retry_ms = 1000;
constexpr std::size_t most_put_together = 1 << 20;  // of the responses of a batch

bool is_response(const event_stream::item& each) { return each.what == outgoing::kind::response; }

std::string json_body(event_stream::items& items, bool batch)
{
    if (!batch && !items.front().logged) return std::move(items.front().own);
    if (!batch) return *items.front().logged;
    std::string out = "[";
    for (const auto& each : items) out.append(out.size() > 1 ? "," : "").append(each.text());
    return out + ']';
}

}  // namespace

stream_options held_open(const http_settings& config, std::string preface)
{
    stream_options options;
    options.json = false;
    options.start_now = true;
    options.preface = std::move(preface);
    options.keep_alive = config.keep_alive;
    return options;
}

stream_writer::stream_writer(exchange& x, std::shared_ptr<event_stream> from, event_stream::consumer who,
                             stream_options options)
    : x_(x), from_(std::move(from)), who_(who), options_(std::move(options))
{
    from_->plain_reply(options_.json && !options_.start_now);
    quiet_at_ = steady_clock::now() + options_.patience;
}

awaitable<> stream_writer::run(stream_writer self)
{
    auto next = self.decide();
    while (next == decision::wait) {
        auto& news = self.from_->news(self.patience());
        auto [cancelled] = co_await news.async_wait(as_tuple);
        if (!cancelled) self.looked_in_vain();
        next = self.decide();
    }
    if (next == decision::gone)
        self.from_->detach(self.who_);
    else
        co_await self.carry_out(next);
}

stream_writer::decision stream_writer::decide()
{
    if (options_.start_now) return decision::events;
    const auto next = decide_by_what_came();
    if (next != decision::wait) return next;
    if (from_->ended(who_)) return decision::taken_over;
    if (x_.gone()) return decision::gone;
    return options_.sse && steady_clock::now() >= quiet_at_ ? decision::events : decision::wait;
}

stream_writer::decision stream_writer::decide_by_what_came()
{
    auto arrived = from_->take();
    if (held_.empty())
        held_ = std::move(arrived);
    else
        std::move(arrived.begin(), arrived.end(), std::back_inserter(held_));
    if (!options_.sse) return decide_without_events();
    bool ended = from_->all_requests_ended();
    bool only_responses = std::all_of(held_.begin(), held_.end(), is_response);
    if (!only_responses || from_->poll_requested()) return decision::events;
    if (!options_.json) return held_.empty() && !ended ? decision::wait : decision::events;
    if (!held_.empty() && (!options_.batch || ended)) return decision::json;
    return ended ? decision::nothing : decision::wait;
}

// A client that takes JSON only cannot be told anything before the response.
stream_writer::decision stream_writer::decide_without_events()
{
    held_.erase(std::remove_if(held_.begin(), held_.end(), std::not_fn(is_response)), held_.end());
    bool ended = from_->all_requests_ended();
    if (!held_.empty() && (!options_.batch || ended)) return decision::json;
    return ended ? decision::nothing : decision::wait;
}

// No coroutine: the answer is all that is left to wait for.
awaitable<> stream_writer::carry_out(decision next)
{
    if (next == decision::events) return begin();
    from_->detach(who_);
    if (next == decision::json && is_large_batch()) return write_large_batch();
    if (next == decision::json) return x_.reply(json_reply());
    if (next == decision::taken_over)
        return x_.reply(error_reply(503, "This stream was taken over by another connection of the same session."));
    // Cancelled requests have no response (cancellation, "Behavior Requirements"), but HTTP needs an answer.
    http_reply nothing;
    nothing.status = 202;
    nothing.fields = options_.fields;
    return x_.reply(std::move(nothing));
}

awaitable<> stream_writer::begin()
{
    from_->plain_reply(false);
    auto first = beginning();
    auto large = std::exchange(held_, {});
    auto fields = std::move(options_.fields);
    std::move(options_.fields_if_ok.begin(), options_.fields_if_ok.end(), std::back_inserter(fields));
    fields.emplace_back("Cache-Control", "no-cache, no-transform");
    fields.emplace_back("X-Accel-Buffering", "no");
    event_writer rest(x_.body(), from_, who_, options_.keep_alive, std::move(ends_));
    if (watching_)
        rest.is_watched();
    else if (options_.start_now)
        rest.watch();
    auto delivered = co_await x_.begin_stream("text/event-stream", std::move(fields), std::move(first));
    if (delivered && !large.empty()) delivered = co_await write_messages(x_.body(), from_, std::move(large));
    if (delivered)
        x_.go_on_with(event_writer::run(std::move(rest)));
    else
        from_->detach(who_);
}

// Large messages stay where they are.
std::string stream_writer::beginning()
{
    std::string first = std::move(options_.preface);
    if (options_.prime) {
        auto before =
            held_.empty() ? from_->taken_id() : event_id{from_->taken_id().stream, held_.front().sequence - 1};
        append_priming(first, before, retry_ms);
    }
    const auto is_large = [](const auto& each) { return each.text().size() > most_on_loop; };
    if (std::ranges::any_of(held_, is_large)) return first;
    for (const auto& each : std::exchange(held_, {})) append_message(first, *from_, each);
    return first;
}

bool stream_writer::is_large_batch() const
{
    std::size_t size = 0;
    for (const auto& each : held_) size += each.text().size();
    return options_.batch && size > most_put_together;
}

// Response by response: to copy them all into one text would hold the loop.
awaitable<> stream_writer::write_large_batch()
{
    auto answer = reply_without_body();
    std::uint64_t length = 1;  // a bracket or a comma before each, and a bracket
    for (const auto& each : held_) length += 1 + each.text().size();
    bool delivered = co_await x_.begin_sized(answer.status, http_reply::json_type, std::move(answer.fields), length);
    std::string_view before = "[";
    for (std::size_t i = 0; delivered && i < held_.size(); ++i) {
        delivered = co_await x_.write_body(before);
        if (delivered) delivered = co_await x_.write_body(held_[i].text());
        before = ",";
    }
    if (delivered) co_await x_.write_body("]");
}

http_reply stream_writer::json_reply()
{
    auto body = json_body(held_, options_.batch);
    auto answer = reply_without_body();
    answer.body = std::move(body);
    return answer;
}

http_reply stream_writer::reply_without_body()
{
    http_reply answer;
    answer.fields = std::move(options_.fields);
    auto code = options_.batch ? 0 : held_.front().error_code;
    if (code == 0)
        std::move(options_.fields_if_ok.begin(), options_.fields_if_ok.end(), std::back_inserter(answer.fields));
    if (code != 0 && options_.status_of) answer.status = options_.status_of(code);
    if (answer.status == 503) answer.with("Retry-After", "1");
    return answer;
}

milliseconds stream_writer::patience() const
{
    // A client that takes no events is sent nothing before the response.
    return longest_wait(options_.sse ? time_until(quiet_at_) : options_.keep_alive, watching_);
}

// Most calls end sooner than that: they do not pay for it.
void stream_writer::looked_in_vain()
{
    if (!std::exchange(watching_, true)) watch();
}

void stream_writer::watch() { x_.watch(waker_of(from_)); }

}  // namespace cmcp
