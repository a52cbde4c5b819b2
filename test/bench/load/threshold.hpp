#pragma once

#include <string>
#include <string_view>

namespace cmcp::load {

/// A figure of the report that must not lie on one side of a bound: "p99>50ms", "errors>0.1%", "rps<1000",
/// "first_progress.p99>100ms", or of one call: "create_sandbox.p99>1s", "ping.errors>0%".
struct threshold {
    enum class figure { latency, service, first_progress, gap, opening, health, errors, rate };
    enum class unit { nanoseconds, count, percent, a_second };

    std::string expression;  ///< as it was given, without blanks
    std::string call;        ///< its name; empty: all calls
    figure of = figure::latency;
    unit in = unit::nanoseconds;
    double statistic = 0;  ///< of a time: a percentile, or one of these
    static constexpr double maximum = 100;
    static constexpr double mean = -1;
    bool above = true;      ///< fails above the bound, or else below it
    bool at_bound = false;  ///< fails at the bound, too
    double bound = 0;       ///< in `in`

    bool broken_by(double value) const;
};

/// Throws std::invalid_argument with a sentence and an example.
threshold parse_threshold(std::string_view text);

/// The threshold of a test that names none: at most one call in a hundred may fail.
threshold default_threshold();

}  // namespace cmcp::load
