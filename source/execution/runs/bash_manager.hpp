#pragma once

#include "runs/runner.hpp"

#include <string>

namespace cmcp {

struct execution_settings;

/// The whole policy of shell commands: which programs there are, limits, how bash is started.
class bash_manager {
public:
    bash_manager(const execution_settings& config, runner runs);

    /// Runs `command` in bash. stdout and stderr are text; see runner for the rest.
    awaitable<run_outcome> run(caller who, request_io& io, std::string command, run_options options);

    const sandbox::program_view& programs() const { return terms_.programs; }
    const run_terms& terms() const { return terms_; }

private:
    run_terms terms_;
    std::string hint_;    // names BASH_ALLOWED_COMMANDS; empty when all programs are allowed
    std::string absent_;  // allowed programs that this machine has not
    runner runs_;
};

/// Makes `request` run a command in this machine's bash.
void run_in_bash(sandbox::run_request& request, std::string command);

/// Has Python programs that it starts print at once, so that nothing is lost when they are ended.
void print_at_once(sandbox::run_request& request);

/// Has tools that would try again and again to reach a network say at once that there is none.
void give_up_soon_offline(sandbox::run_request& request);

}  // namespace cmcp
