#pragma once

#include "mcp/running_request.hpp"
#include "metrics/span.hpp"

#include <chrono>

namespace cmcp {

/// A request that has just ended, named and described as OpenTelemetry's conventions for MCP do. Arguments are left
/// out.
metrics::span span_of(const running_request& request, const outcome& done, std::chrono::duration<double> took);

}  // namespace cmcp
