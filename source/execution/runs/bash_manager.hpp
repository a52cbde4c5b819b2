#pragma once

#include "runs/runner.hpp"

#include <string>

namespace cmcp {

struct execution_settings;

/// The policy of shell commands that have the programs of BASH_ALLOWED_COMMANDS: which programs there are, limits, how
/// bash is started.
class bash_manager {
public:
    explicit bash_manager(const execution_settings& config);

    /// A sentence for a command that cannot be run; empty: it can.
    static std::string problem(const std::string& command);

    /// Makes `request` run the command.
    void start(sandbox::run_request& request, std::string command, const run_options& options) const;

    /// Adds what is allowed to the errors of a run that did not find a program.
    void explain(run_outcome& outcome) const;

    const sandbox::program_view& programs() const { return terms_.programs; }
    const run_terms& terms() const { return terms_; }

private:
    run_terms terms_;
    std::string hint_;    // names BASH_ALLOWED_COMMANDS; empty when all programs are allowed
    std::string absent_;  // allowed programs that this machine has not
};

/// Makes `request` run a command in this machine's bash.
void run_in_bash(sandbox::run_request& request, std::string command);

/// Has tools that would try again and again to reach a network say at once that there is none.
void give_up_soon_offline(sandbox::run_request& request);

}  // namespace cmcp
