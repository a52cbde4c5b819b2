#pragma once

#include "metrics/trace_context.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::metrics {

/// A piece of work of the server, in the terms of OpenTelemetry.
struct span {
    std::string name;
    trace_parent parent;  ///< empty: the span begins a trace of its own
    std::chrono::system_clock::time_point began;
    std::chrono::nanoseconds took{0};
    std::vector<std::pair<std::string, std::string>> attributes;
    std::string error;  ///< the failure in a word; empty: none
};

}  // namespace cmcp::metrics
