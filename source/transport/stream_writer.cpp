#include "transport/stream_writer.hpp"

#include <algorithm>
#include <iterator>

namespace cmcp {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

// Most calls end sooner: only longer ones pay for a look at whether the client is still there.
constexpr milliseconds unwatched(50);

constexpr int retry_ms = 1000;

bool is_response(const event_stream::item& each) { return each.what == outgoing::kind::response; }

std::string json_body(const std::vector<event_stream::item>& items, bool batch)
{
    if (!batch) return *items.front().text;
    std::string out = "[";
    for (const auto& each : items) out.append(out.size() > 1 ? "," : "").append(*each.text);
    return out + ']';
}

}  // namespace

stream_options held_open(const settings& chosen, std::string preface)
{
    stream_options made;
    made.json = false;
    made.start_now = true;
    made.preface = std::move(preface);
    made.keep_alive = chosen.keep_alive;
    return made;
}

stream_writer::stream_writer(exchange& x, std::shared_ptr<event_stream> from, event_stream::consumer who,
                             stream_options chosen)
    : x_(x), from_(std::move(from)), who_(who), chosen_(std::move(chosen))
{
    from_->plain_reply(chosen_.json && !chosen_.start_now);
}

awaitable<stream_end> stream_writer::run()
{
    quiet_at_ = steady_clock::now() + chosen_.patience;
    auto next = chosen_.start_now ? decision::events : decision::wait;
    for (bool delivered = true; delivered;) {
        if (!streaming_ && next == decision::wait) next = decide();
        if (!streaming_ && next == decision::json) co_return co_await reply_json();
        if (!streaming_ && next == decision::nothing) co_return co_await reply_nothing();
        if (!streaming_ && next == decision::events) {
            delivered = co_await begin();
        } else if (from_->ended(who_)) {
            co_return co_await finish();
        } else if (streaming_ && !from_->queued().empty()) {
            delivered = co_await flush();
        } else if (x_.gone()) {
            break;
        } else {
            auto in_time = co_await wait();
            if (in_time) continue;
            if (streaming_) delivered = co_await flush();
            else if (chosen_.sse) next = decision::events;
        }
    }
    co_return lost();
}

stream_writer::decision stream_writer::decide()
{
    auto arrived = from_->take();
    std::move(arrived.begin(), arrived.end(), std::back_inserter(held_));
    if (!chosen_.sse) return decide_without_events();
    bool ended = from_->all_requests_ended();
    bool only_responses = std::all_of(held_.begin(), held_.end(), is_response);
    if (!only_responses || from_->poll_requested()) return decision::events;
    if (!chosen_.json) return held_.empty() && !ended ? decision::wait : decision::events;
    if (!held_.empty() && (!chosen_.batch || ended)) return decision::json;
    return ended ? decision::nothing : decision::wait;
}

// A client that takes JSON only cannot be told anything before the response.
stream_writer::decision stream_writer::decide_without_events()
{
    held_.erase(std::remove_if(held_.begin(), held_.end(), std::not_fn(is_response)), held_.end());
    bool ended = from_->all_requests_ended();
    if (!held_.empty() && (!chosen_.batch || ended)) return decision::json;
    return ended ? decision::nothing : decision::wait;
}

awaitable<bool> stream_writer::begin()
{
    streaming_ = true;
    from_->plain_reply(false);
    std::string first = std::move(chosen_.preface);
    if (chosen_.prime) {
        auto before = held_.empty() ? from_->taken_id() : event_id{from_->taken_id().stream, held_.front().sequence - 1};
        append_priming(first, before, retry_ms);
    }
    auto fields = std::move(chosen_.fields);
    std::move(chosen_.fields_if_ok.begin(), chosen_.fields_if_ok.end(), std::back_inserter(fields));
    fields.emplace_back("Cache-Control", "no-cache, no-transform");
    fields.emplace_back("X-Accel-Buffering", "no");
    auto held = std::move(held_);
    held_ = {};
    for (const auto& each : held) {
        auto id = from_->has_log() ? std::optional(from_->id_of(each)) : std::nullopt;
        append_event(first, "message", *each.text, id);
    }
    x_.settle_as_stream();
    if (chosen_.start_now) watch();
    quiet_at_ = steady_clock::now() + chosen_.keep_alive;
    auto delivered = co_await x_.begin_stream("text/event-stream", std::move(fields), std::move(first));
    co_return delivered;
}

// With nothing queued, a comment keeps proxies and clients from closing a silent stream.
awaitable<bool> stream_writer::flush()
{
    std::string frames;
    for (const auto& each : from_->take()) {
        auto id = from_->has_log() ? std::optional(from_->id_of(each)) : std::nullopt;
        append_event(frames, "message", *each.text, id);
    }
    if (frames.empty()) frames = ": keep-alive\n\n";
    auto delivered = co_await x_.write_chunk(frames);
    quiet_at_ = steady_clock::now() + chosen_.keep_alive;
    co_return delivered;
}

awaitable<stream_end> stream_writer::reply_json()
{
    from_->detach(who_);
    http_reply answer;
    answer.body = json_body(held_, chosen_.batch);
    answer.fields = chosen_.fields;
    auto code = chosen_.batch ? 0 : held_.front().error_code;
    if (code == 0) answer.fields.insert(answer.fields.end(), chosen_.fields_if_ok.begin(), chosen_.fields_if_ok.end());
    if (code != 0 && chosen_.status_of) answer.status = chosen_.status_of(code);
    if (answer.status == 503) answer.with("Retry-After", "1");
    held_.clear();
    auto delivered = co_await x_.reply(std::move(answer));
    co_return delivered ? stream_end::done : stream_end::gone;
}

// Cancelled requests have no response (cancellation, "Behavior Requirements"), but HTTP needs an answer.
awaitable<stream_end> stream_writer::reply_nothing()
{
    from_->detach(who_);
    http_reply answer;
    answer.status = 202;
    answer.fields = chosen_.fields;
    auto delivered = co_await x_.reply(std::move(answer));
    co_return delivered ? stream_end::done : stream_end::gone;
}

awaitable<stream_end> stream_writer::finish()
{
    from_->detach(who_);
    if (!streaming_) {
        auto answer = error_reply(503, "This stream was taken over by another connection of the same session.");
        co_await x_.reply(std::move(answer));
        co_return stream_end::done;
    }
    auto delivered = co_await x_.end_stream();
    co_return delivered ? stream_end::done : stream_end::gone;
}

awaitable<bool> stream_writer::wait()
{
    auto left = std::chrono::duration_cast<milliseconds>(quiet_at_ - steady_clock::now()) + milliseconds(1);
    bool short_wait = !watching_ && unwatched < left;
    auto limit = short_wait ? unwatched : std::max(left, milliseconds(0));
    auto happened = co_await from_->wait(who_, limit);
    if (happened) co_return true;
    if (!watching_) watch();
    co_return short_wait;
}

void stream_writer::watch()
{
    watching_ = true;
    x_.watch([weak = std::weak_ptr(from_)] {
        if (auto stream = weak.lock()) stream->wake();
    });
}

stream_end stream_writer::lost()
{
    from_->detach(who_);
    return stream_end::gone;
}

}  // namespace cmcp
