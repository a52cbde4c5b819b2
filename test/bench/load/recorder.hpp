#pragma once

#include "load/failure.hpp"
#include "load/histogram.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
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

/// The calls of one server. Those of slow readers are left out, as in the sum of all calls.
struct server_figures {
    std::uint64_t succeeded = 0;
    std::uint64_t in_time = 0;  ///< of these, within the time that is measured
    failure_counts errors;
    histogram latency;
    failure_counts opening_errors;

    void count(const failure& error, std::int64_t latency_ns);  ///< `error` without a kind: the call succeeded
    void forget_calls();
};

/// The figures since the last live line.
struct recent_figures {
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;
    histogram latency;
    std::map<std::size_t, histogram> by_call;
};

struct recorder {
    explicit recorder(std::size_t kinds, std::size_t servers = 1) : calls(kinds), by_address(servers) {}

    std::vector<call_figures> calls;                ///< in the order of the mix
    call_figures slow;                              ///< calls of the slow readers
    std::vector<server_figures> by_address;         ///< in the order of the addresses
    std::map<std::string, server_figures> by_name;  ///< where answers have X-Served-By
    recent_figures recent;
    histogram opening;  ///< sessions: from connecting to ready
    failure_counts opening_errors;
    histogram health;
    failure_counts health_errors;
    std::uint64_t lost_streams = 0;  ///< idle sessions that the server ended
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;

    void forget_calls();  ///< at the end of the warm-up
    void count_at(std::size_t address, const std::string& name, const failure& error, std::int64_t latency_ns);
    std::uint64_t mark_in_time();  ///< the calls that succeeded so far did so within the measured time: their number
    call_figures all() const;
};

}  // namespace cmcp::load
