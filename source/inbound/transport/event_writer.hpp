#pragma once

#include "async/canceller.hpp"
#include "http/exchange.hpp"
#include "transport/event_stream.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// Writes the messages of an event_stream as server-sent events, all that is queued in one write, and a comment when it
/// is silent for long. It holds nothing of the request that opened the stream: most streams wait for hours.
class event_writer {
public:
    /// `ends`: what ends with the stream.
    event_writer(stream_body to, std::shared_ptr<event_stream> from, event_stream::consumer who,
                 std::chrono::milliseconds keep_alive, std::optional<canceller_at_end> ends);

    /// Until the stream has ended (true) or the peer is gone.
    static awaitable<bool> run(event_writer self);

    void watch();                            ///< notices from now on when the peer closes its side
    void is_watched() { watching_ = true; }  ///< it does already, and wakes the stream

private:
    bool goes_on();
    awaitable<bool> write_out();
    std::chrono::milliseconds patience() const;
    bool late() const;

    stream_body to_;
    std::shared_ptr<event_stream> from_;
    event_stream::consumer who_;
    std::chrono::milliseconds keep_alive_;
    std::chrono::steady_clock::time_point quiet_at_;
    bool watching_ = false;
    std::optional<canceller_at_end> ends_;
};

/// The time from now until just after `at`.
std::chrono::milliseconds time_until(std::chrono::steady_clock::time_point at);

/// How long at most news are awaited where there is nothing to do for `left`: whether the client is still there is
/// watched
/// (`watching`) only when the first moments, in which most streams end, brought nothing.
std::chrono::milliseconds longest_wait(std::chrono::milliseconds left, bool watching);

/// Wakes the stream, as long as it is there: for who watches its client.
std::function<void()> waker_of(const std::shared_ptr<event_stream>& stream);

/// Appends one message, with its id where the stream can be resumed.
void append_message(std::string& out, const event_stream& from, const event_stream::item& message);

/// Writes them as events, small ones together and large ones without a copy of them.
awaitable<bool> write_messages(stream_body to, std::shared_ptr<event_stream> from, event_stream::items messages);

/// `before`, and then an event, whose `data` are not copied. Both give false when the peer is gone.
awaitable<bool> write_event(stream_body to, std::string before, std::string_view name, std::string_view data,
                            std::optional<event_id> id);

}  // namespace cmcp
