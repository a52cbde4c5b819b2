#pragma once

#include "async/event.hpp"
#include "mcp/message_sink.hpp"
#include "transport/event_log.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/container/small_vector.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// The messages for one stream of a client: of one POST, of the GET stream, or of an HTTP+SSE connection. Requests put
/// messages in; the connection that the client has open at the moment takes them out. With a log, the stream outlives
/// connections: what is sent meanwhile waits in the log.
class event_stream : public message_sink {
public:
    struct options {
        std::uint64_t number = 0;
        std::shared_ptr<event_log> log = {};  ///< null: the stream ends with its connection
        std::size_t max_queued = 1u << 20;    ///< bytes that may wait for the connection before send() suspends
        std::shared_ptr<memory_budget::part> memory = {};  ///< null: no limit beside max_queued
        bool pollable = false;                             ///< the client may be told to come back (2025-11-25)
    };
    struct item {
        std::string own;  ///< the text, unless the log has it as well
        event_log::text logged;
        outgoing::kind what;
        int error_code;
        std::uint64_t sequence;

        std::string_view text() const { return logged ? *logged : own; }
    };
    using items = boost::container::small_vector<item, 1>;  // most streams bring one response
    using consumer = std::uint64_t;

    event_stream(asio::any_io_executor executor, options limits);
    ~event_stream() override { unqueue_all(); }

    // what requests use
    awaitable<bool> send(outgoing message) override;
    void close_stream_for_polling() override;

    // life of the stream
    void expect_requests(std::size_t count) { running_ += count; }  ///< that many requests answer here
    void request_ended() override;                                  ///< after the last one the stream ends
    void close();  ///< what is queued still goes out, then the stream ends

    // what a connection uses; a new consumer takes the place of the former, which ends
    consumer attach();  ///< goes on after what was already taken
    consumer attach_after(std::uint64_t sequence);
    void detach(consumer who);

    /// The silent stream on which a former consumer goes on, where it was the second within a short time to lose its
    /// place: two clients that each come back when their stream ends would end each other's for ever. Null: it ends.
    std::shared_ptr<event_stream> set_aside(consumer who) const;
    void plain_reply(bool possible) { plain_ = possible; }  ///< the first response may go out outside the log
    bool current(consumer who) const { return attached_ && who == consumer_; }
    bool ended(consumer who) const;  ///< nothing more will come for this consumer
    const items& queued() const { return queue_; }
    items take();
    bool ready(consumer who) const { return !queue_.empty() || ended(who) || !current(who); }
    asio::steady_timer& news(
        std::chrono::milliseconds limit);  ///< when not ready(): to be awaited at once; cancelled by news
    void wake() { wake_.cancel(); }

    std::uint64_t number() const { return options_.number; }
    std::uint64_t last_sequence() const { return sequence_; }
    bool attached() const { return attached_; }
    bool has_log() const { return options_.log != nullptr; }
    bool pollable() const { return options_.pollable; }
    bool all_requests_ended() const { return ended_; }
    bool poll_requested() const { return poll_; }
    event_id taken_id() const { return event_id{options_.number, taken_}; }  ///< of the last that was taken
    event_id id_of(const item& each) const { return event_id{options_.number, each.sequence}; }

private:
    void put(outgoing message);
    void take_place();
    void end_those_aside();
    bool full() const;
    void enqueue(item next);
    void unqueue_all();

    options options_;
    asio::steady_timer wake_;  // no event, because a stream that waits is to cost no further frame
    event room_;               // for senders
    items queue_;
    std::size_t queued_bytes_ = 0;
    std::size_t running_ = 0;
    std::uint64_t sequence_ = 0;
    std::uint64_t taken_ = 0;
    consumer consumer_ = 0;
    std::chrono::steady_clock::time_point place_taken_{-std::chrono::hours(1)};  // long before the start
    std::vector<std::pair<consumer, std::shared_ptr<event_stream>>> aside_;
    bool attached_ = false;
    bool ended_ = false;
    bool poll_ = false;
    bool plain_ = false;
};

}  // namespace cmcp
