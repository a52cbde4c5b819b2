#pragma once

#include "jail.hpp"

#include <string>
#include <vector>

namespace cmcp::sandbox {

/// Puts the descriptors of the plan where the program of a run finds them (0 to 4) and closes all others but the control
/// socket; no signal stays blocked. Throws step_failed.
void take_places(jail_plan& plan);

/// Writes the facts of the finished sandbox to the result channel in place of running anything.
[[noreturn]] void answer_probe(jail_plan& plan);

std::vector<std::string> make_environment(const run_request& request);   ///< NAME=value

/// The program of a run, ready to be executed.
class payload final : public guest {
public:
    explicit payload(jail_plan& plan);
    [[noreturn]] void become() override;   ///< throws step_failed when the program cannot be started

private:
    jail_plan& plan_;
    std::vector<std::string> environment_;
    std::vector<char*> arguments_;
    std::vector<char*> variables_;
};

}  // namespace cmcp::sandbox
