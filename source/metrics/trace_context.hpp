#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cmcp::metrics {

/// What a `traceparent` value says (W3C Trace Context, section 3.2). Empty members: there was none.
struct trace_parent {
    std::string trace;    ///< 32 hex digits
    std::string span;     ///< 16 hex digits: who called
    bool sampled = true;  ///< the caller may have recorded its part
};

/// Nothing when the value is malformed, so that what a peer sends cannot reach the log as it is.
std::optional<trace_parent> parse_traceparent(std::string_view value);

/// The id of the trace alone.
std::optional<std::string> trace_id(std::string_view traceparent);

}  // namespace cmcp::metrics
