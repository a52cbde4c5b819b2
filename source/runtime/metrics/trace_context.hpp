#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cmcp::metrics {

/// A `traceparent` value (W3C Trace Context, section 3.2). Empty members: the request had none.
struct trace_parent {
    std::string trace;    ///< 32 hex digits
    std::string span;     ///< 16 hex digits: the caller's span
    bool sampled = true;  ///< the caller may have recorded its part
};

/// Nothing when the value is malformed, so that no text of a peer reaches the log unread.
std::optional<trace_parent> parse_traceparent(std::string_view value);

/// The id of the trace alone.
std::optional<std::string> trace_id(std::string_view traceparent);

}  // namespace cmcp::metrics
