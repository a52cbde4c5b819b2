#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// Names an event for Last-Event-ID: which stream of the session it was sent on, and its place there.
struct event_id {
    std::uint64_t stream = 0;    ///< 0: the stream that GET opens
    std::uint64_t sequence = 0;  ///< 0: before the first message

    bool operator==(const event_id&) const = default;
};

std::string to_string(const event_id& id);                      ///< "3-17"
std::optional<event_id> parse_event_id(std::string_view text);  ///< nothing when it is none of ours

/// Appends one event (HTML Living Standard section 9.2.5). Line ends in `data` become several data lines.
void append_event(std::string& out, std::string_view name, std::string_view data, const std::optional<event_id>& id);

/// The beginning of an event up to its data, which have no line ends and are followed by an empty line.
void append_event_head(std::string& out, std::string_view name, const std::optional<event_id>& id);

bool has_line_ends(std::string_view data);

/// An event with an id and empty data, so that the client can come back before the first message (2025-11-25).
void append_priming(std::string& out, const event_id& id, int retry_ms);

}  // namespace cmcp
