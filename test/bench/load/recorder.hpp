#pragma once

#include "load/failure.hpp"
#include "load/histogram.hpp"

#include <chrono>
#include <cstdint>
#include <vector>

namespace cmcp::load {

using clock = std::chrono::steady_clock;

/// The figures of one kind of call.
struct call_figures {
    std::uint64_t started = 0;
    std::uint64_t succeeded = 0;
    failure_counts errors;
    histogram latency;             ///< from when the call was due to its answer, of those that succeeded
    histogram service;             ///< from when it was sent
    histogram first_progress;      ///< from when it was sent to its first output
    histogram gap;                 ///< between two pieces of output of one call
    std::uint64_t progress = 0;    ///< progress notifications with output
    std::uint64_t heartbeats = 0;  ///< progress notifications without
    std::uint64_t output_bytes = 0;
    std::uint64_t output_gaps =
        0;  ///< pieces that began beyond the end of the one before: something between is missing

    std::uint64_t failed() const { return errors.sum(); }
    std::uint64_t answered() const { return succeeded + failed(); }
    void merge(const call_figures& other);
};

/// The figures since the last live line.
struct recent_figures {
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;
    histogram latency;
};

struct recorder {
    explicit recorder(std::size_t kinds) : calls(kinds) {}

    std::vector<call_figures> calls;  ///< in the order of the mix
    call_figures slow;                ///< calls of the slow readers
    recent_figures recent;
    histogram opening;  ///< sessions: from connecting to ready
    failure_counts opening_errors;
    histogram health;
    failure_counts health_errors;
    std::uint64_t lost_streams = 0;  ///< idle sessions that the server ended
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;

    void forget_calls();  ///< at the end of the warm-up
    call_figures all() const;
};

}  // namespace cmcp::load
