#pragma once

#include "config/settings.hpp"
#include "runs/runner.hpp"

#include <string>
#include <vector>

namespace cmcp {

/// The whole policy of shell commands: which programs there are, limits, how bash is started.
class bash_manager {
public:
    bash_manager(const settings& chosen, runner runs);

    /// Runs `command` in bash. stdout and stderr are text; see runner for the rest.
    awaitable<run_outcome> run(caller who, request_io& io, std::string command, run_options options);

    const sandbox::program_view& programs() const { return programs_; }

private:
    sandbox::run_request request(std::string command, const run_options& options) const;

    sandbox::program_view programs_;
    sandbox::run_limits limits_;
    std::chrono::milliseconds timeout_default_;
    std::chrono::milliseconds timeout_max_;
    std::chrono::milliseconds job_timeout_;
    std::string hint_;    // names BASH_ALLOWED_COMMANDS; empty when all programs are allowed
    std::string absent_;  // allowed programs that this machine has not
    runner runs_;
};

/// What BASH_ALLOWED_COMMANDS stands for.
sandbox::program_view allowed_programs(const settings& chosen);

/// The limits that commands and Python runs share.
sandbox::run_limits common_limits(const settings& chosen);

}  // namespace cmcp
