#pragma once

#include "text/sse_parser.hpp"
#include "upstream/link_messages.hpp"
#include "web/http_client.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// How far an answer of events was read, so that its server can go on with it on another connection.
struct stream_position {
    std::string last_event;                            ///< its id; empty: the server gave none that can be sent back
    std::optional<std::chrono::milliseconds> retry{};  ///< how long the server wants to be left alone
    std::size_t received = 0;                          ///< bytes, on all connections
};

/// Thrown by reply_receiver when all that is waited for has come, so that nothing more is read.
struct reply_complete {};

/// The bytes that all answers of a server hold at a moment.
struct held_bytes {
    static constexpr std::size_t most = 64 << 20;

    std::size_t now = 0;
};

/// Reads the answer to a POST of Streamable HTTP: one message, or events with messages. Throws upstream_problem, the
/// end of a sentence, for an answer that is too long or none.
class reply_receiver : public body_receiver {
public:
    static constexpr std::size_t most_in_all = 64 << 20;  ///< bytes of an answer

    /// `wanted` is null where the server is only told something. `from`: the answer went so far on an earlier
    /// connection. Everything must outlive this.
    reply_receiver(link_messages& messages, std::shared_ptr<awaited_answer> wanted, held_bytes& held,
                   stream_position from = {});
    reply_receiver(const reply_receiver&) = delete;
    reply_receiver& operator=(const reply_receiver&) = delete;
    ~reply_receiver() override;

    awaitable<> begin(fetch_head head, std::optional<std::uint64_t> length) override;
    awaitable<> receive(std::string_view piece) override;

    /// After the end of the body. Throws upstream_problem where `wanted` has no answer, unless the status is an error.
    awaitable<> finish();

    /// Whether events have ended before the answer came, so that the server may go on with them.
    bool breaks_off() const { return events_ && !wanted_->answer && !place_.last_event.empty(); }
    bool is_stream() const { return events_.has_value(); }
    const stream_position& place() const { return place_; }

    const fetch_head& head() const { return head_; }
    const std::string& text() const { return text_; }  ///< of an answer with an error's status

private:
    bool is_error() const { return head_.status >= 400; }
    awaitable<> take(std::string message);
    void hold(std::size_t bytes);
    void note_place();

    link_messages& messages_;
    std::shared_ptr<awaited_answer> wanted_;
    held_bytes& held_;
    std::size_t holds_ = 0;
    fetch_head head_;
    std::string text_;
    std::optional<sse_parser> events_;
    std::vector<std::string> said_;  // by the events of the latest piece
    stream_position place_;
};

}  // namespace cmcp
