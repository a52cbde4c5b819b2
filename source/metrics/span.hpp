#pragma once

#include "metrics/trace_context.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::metrics {

/// One piece of work of the server, in the terms of OpenTelemetry.
struct span {
    std::string name;
    trace_parent parent;  ///< empty: it begins a trace of its own
    std::chrono::system_clock::time_point began;
    std::chrono::nanoseconds took{0};
    std::vector<std::pair<std::string, std::string>> attributes;
    std::string error;  ///< what went wrong, in a word; empty: nothing
};

}  // namespace cmcp::metrics
