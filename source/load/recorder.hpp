#pragma once

#include "load/histogram.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cmcp::load {

using clock = std::chrono::steady_clock;

/// What is known of one kind of call.
struct call_figures {
    std::uint64_t started = 0;
    std::uint64_t succeeded = 0;
    std::map<std::string, std::uint64_t> errors;    ///< by kind: "HTTP 503", "JSON-RPC -32000", "timeout", …
    histogram latency;              ///< from when the call was due to its answer, of those that succeeded
    histogram service;              ///< from when it was sent
    histogram first_progress;       ///< from when it was sent to its first progress
    histogram gap;                  ///< between two messages of one call
    std::uint64_t progress = 0;     ///< progress messages

    std::uint64_t failed() const;
    void merge(const call_figures& other);
};

struct recorder {
    explicit recorder(std::size_t kinds) : calls(kinds) {}

    std::vector<call_figures> calls;                ///< in the order of the mix
    call_figures slow;                              ///< calls of the slow readers
    histogram opening;                              ///< sessions: from connecting to ready
    std::map<std::string, std::uint64_t> opening_errors;
    histogram health;
    std::map<std::string, std::uint64_t> health_errors;
    std::uint64_t lost_streams = 0;                 ///< idle sessions that the server ended
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;

    void forget_calls();            ///< at the end of the warm-up
    call_figures all() const;
};

}  // namespace cmcp::load
