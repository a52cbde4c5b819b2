#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cmcp::metrics {

/// W3C Trace Context, section 3.2: the id of the trace that a `traceparent` value names (32 hex digits); nothing when the
/// value is malformed, so that what a peer sends cannot reach the log as it is.
std::optional<std::string> trace_id(std::string_view traceparent);

}  // namespace cmcp::metrics
