#include "transport/event_stream.hpp"

#include "jsonrpc/write_json.hpp"

#include <utility>

namespace cmcp {

namespace {

// Longer than clients wait before they open a stream again.
constexpr std::chrono::seconds taking_turns(60);

constexpr std::size_t most_aside = 4;

}  // namespace

event_stream::event_stream(asio::any_io_executor executor, options limits)
    : options_(std::move(limits)), wake_(executor, asio::steady_timer::time_point::max())
{
}

awaitable<bool> event_stream::send(outgoing message)
{
    while (!ended_ && attached_ && full()) co_await room_.wait();
    if (ended_ || (!attached_ && !options_.log)) co_return false;
    put(std::move(message));
    co_return true;
}

void event_stream::put(outgoing message)
{
    bool plain = plain_ && attached_ && sequence_ == 0 && message.what == outgoing::kind::response;
    const int error_code = message.error ? message.error->code : 0;
    item next{message.take_text(), nullptr, message.what, error_code, ++sequence_};
    if (options_.log && !plain) {
        next.logged = std::make_shared<const std::string>(std::move(next.own));
        const bool answers = message.what == outgoing::kind::response;
        options_.log->add(id_of(next), next.logged, answers ? jsonrpc::write_json(message.id) : std::string());
    }
    if (!attached_ || poll_) return;
    enqueue(std::move(next));
    wake_.cancel();
}

// When memory is short, one message at a time: it always goes out, and wakes the sender then.
bool event_stream::full() const
{
    return queued_bytes_ >= options_.max_queued ||
           (queued_bytes_ != 0 && options_.memory && options_.memory->exhausted());
}

void event_stream::enqueue(item next)
{
    queued_bytes_ += next.text().size();
    if (options_.memory) options_.memory->add(next.text().size());
    queue_.push_back(std::move(next));
}

void event_stream::unqueue_all()
{
    if (options_.memory) options_.memory->remove(queued_bytes_);
    queued_bytes_ = 0;
    queue_.clear();
}

void event_stream::close_stream_for_polling()
{
    if (!options_.pollable || !attached_ || ended_) return;
    poll_ = true;
    room_.notify();
    wake_.cancel();
}

void event_stream::request_ended()
{
    if (running_ != 0 && --running_ == 0) close();
}

void event_stream::close()
{
    ended_ = true;
    end_those_aside();
    room_.notify();
    wake_.cancel();
}

void event_stream::end_those_aside()
{
    for (const auto& [who, silent] : std::exchange(aside_, {})) silent->close();
}

void event_stream::take_place()
{
    const auto now = std::chrono::steady_clock::now();
    if (attached_ && now - std::exchange(place_taken_, now) < taking_turns) {
        if (aside_.size() == most_aside) {
            aside_.front().second->close();
            aside_.erase(aside_.begin());
        }
        aside_.emplace_back(consumer_,
                            std::make_shared<event_stream>(wake_.get_executor(), options{.number = options_.number}));
    }
    attached_ = true;
    ++consumer_;
}

std::shared_ptr<event_stream> event_stream::set_aside(consumer who) const
{
    for (const auto& [former, silent] : aside_)
        if (former == who) return silent;
    return nullptr;
}

event_stream::consumer event_stream::attach() { return attach_after(taken_); }

event_stream::consumer event_stream::attach_after(std::uint64_t sequence)
{
    unqueue_all();
    take_place();
    poll_ = false;
    wake_.cancel();
    if (!options_.log) return consumer_;
    for (auto& event : options_.log->after(event_id{options_.number, sequence}))
        enqueue(item{{}, std::move(event.data), outgoing::kind::notification, 0, event.id.sequence});
    room_.notify();
    return consumer_;
}

void event_stream::detach(consumer who)
{
    if (!current(who)) return;
    attached_ = false;
    end_those_aside();  // they come back, and one of them is told what comes
    unqueue_all();
    room_.notify();
}

bool event_stream::ended(consumer who) const { return !current(who) || ((ended_ || poll_) && queue_.empty()); }

event_stream::items event_stream::take()
{
    if (!queue_.empty()) taken_ = queue_.back().sequence;
    auto taken = std::exchange(queue_, {});
    unqueue_all();
    room_.notify();
    return taken;
}

asio::steady_timer& event_stream::news(std::chrono::milliseconds limit)
{
    wake_.expires_after(limit);
    return wake_;
}

}  // namespace cmcp
