#pragma once

#include "config/settings.hpp"
#include "runs/runner.hpp"

namespace cmcp {

/// The limits that commands and Python runs share.
sandbox::run_limits common_limits(const settings& config);

/// The programs, limits and times of a kind of runs.
struct run_terms {
    static run_terms of_commands(const settings& config);
    static run_terms of_python(const settings& config);

    /// Sets programs, limits and the wall time that the caller asked for.
    void apply(sandbox::run_request& request, const run_options& options) const;
    std::chrono::milliseconds time(const run_options& options) const;

    sandbox::program_view programs;  ///< those of BASH_ALLOWED_COMMANDS
    sandbox::run_limits limits;
    std::chrono::milliseconds time_otherwise;
    std::chrono::milliseconds longest_time;
    std::chrono::milliseconds longest_job;
};

}  // namespace cmcp
