#pragma once

#include "http/exchange.hpp"
#include "transport/event_stream.hpp"
#include "transport/event_writer.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cmcp {

struct http_settings;

/// How a stream is brought to its client.
struct stream_options {
    bool json = true;                              ///< a whole JSON reply is allowed when the response comes first
    bool sse = true;                               ///< an event stream is allowed
    bool batch = false;                            ///< the responses are gathered into an array
    bool start_now = false;                        ///< event stream from the beginning
    bool prime = false;                            ///< begins with an event that has an id only (2025-11-25)
    std::string preface;                           ///< events to begin with
    exchange::fields fields;                       ///< on every answer
    exchange::fields fields_if_ok;                 ///< on answers that are no error
    std::function<int(int)> status_of;             ///< HTTP status for a JSON-RPC error code; none: 200
    std::chrono::milliseconds patience{15'000};    ///< without a message, then an event stream is begun
    std::chrono::milliseconds keep_alive{15'000};  ///< a comment on a silent stream
};

/// For a stream that is opened to be held, whatever comes.
stream_options held_open(const http_settings& config, std::string preface);

/// Answers one exchange with what comes from an event_stream: with one JSON reply when the first message is the
/// response, else with server-sent events, which go on when the exchange is over (event_writer).
class stream_writer {
public:
    stream_writer(exchange& x, std::shared_ptr<event_stream> from, event_stream::consumer who, stream_options options);

    /// `target` is cancelled when the answer or its stream is over, or the client is gone.
    void cancel_at_end(std::weak_ptr<canceller> target) { ends_.emplace(std::move(target)); }

    /// Until the answer is out or is a stream.
    static awaitable<> run(stream_writer self);

private:
    enum class decision { wait, json, events, nothing, taken_over, gone };
    decision decide();
    decision decide_by_what_came();
    decision decide_without_events();
    awaitable<> carry_out(decision next);
    awaitable<> begin();
    std::string beginning();
    http_reply json_reply();
    http_reply reply_without_body();
    bool is_large_batch() const;
    awaitable<> write_large_batch();
    std::chrono::milliseconds patience() const;
    void looked_in_vain();
    void watch();

    exchange& x_;
    std::shared_ptr<event_stream> from_;
    event_stream::consumer who_;
    stream_options options_;
    event_stream::items held_;
    std::chrono::steady_clock::time_point quiet_at_;
    bool watching_ = false;
    std::optional<canceller_at_end> ends_;
};

}  // namespace cmcp
