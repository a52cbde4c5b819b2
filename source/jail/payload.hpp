#pragma once

#include "jail/jail.hpp"

#include <string>
#include <vector>

namespace cmcp::sandbox {

/// Puts the descriptors of the plan where the program of a run finds them (0 to 4) and closes all others but the
/// control socket; no signal stays blocked. Throws step_failed.
void take_places(jail_plan& plan);

/// Writes the facts of the finished sandbox to the result channel in place of running anything.
[[noreturn]] void answer_probe(jail_plan& plan);

/// Process 2 of a run that is prepared before anyone asks for it: says that it waits, and completes the plan with its
/// start. Ends where nothing does.
void wait_for_run(jail_plan& plan);

void unblock_signals();  ///< all of them, for a program that is executed next

std::vector<std::string> make_environment(const run_request& request);  ///< NAME=value

/// The program of a run, ready to be executed.
class payload final : public guest {
public:
    /// `waits`: the plan is to be completed by wait_for_run().
    explicit payload(jail_plan& plan, bool waits = false);
    [[noreturn]] void become() override;  ///< throws step_failed when the program cannot be started

private:
    void prepare();

    jail_plan& plan_;
    bool waits_;
    std::vector<std::string> environment_;
    std::vector<char*> arguments_;
    std::vector<char*> variables_;
};

}  // namespace cmcp::sandbox
