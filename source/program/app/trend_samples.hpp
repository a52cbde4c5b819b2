#pragma once

#include "async/recent.hpp"
#include "jsonrpc/json.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace cmcp {

/// The figures of a server over the last hour. The processor time is the whole machine's.
class trend_samples {
public:
    static constexpr std::chrono::seconds between{10};
    static constexpr std::size_t most = 360;

    /// What is counted at the moment of a sample; calls and failures since the start of the server.
    struct levels {
        std::size_t runs, waiting;
        std::uint64_t calls, failures, memory;
    };

    void add(const levels& now);

    /// Oldest first: {"at", "runs", "runs_waiting", "calls", "failures", "memory_bytes", "cpu"}. Calls and failures are
    /// those since the sample before, and `cpu` the share of the machine's processors that was busy, 0 to 1.
    json::array rows() const;
    std::uint64_t memory() const { return last_.memory; }

private:
    struct processor_time {
        std::uint64_t busy = 0, all = 0;
    };
    struct sample {
        double at, cpu;
        levels of;
    };

    static processor_time read_processor_time();
    double share_since_last();

    recent<sample> samples_{most};
    levels last_{};
    processor_time spent_ = read_processor_time();
};

}  // namespace cmcp
