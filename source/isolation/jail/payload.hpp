#pragma once

#include "jail/jail.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cmcp::sandbox {

/// Puts the descriptors of the plan where the program of a run finds them (0 to 4) and closes all others but the
/// control socket; no signal stays blocked. Throws step_failed.
void install_descriptors(jail_plan& plan);

/// Writes the facts of the finished sandbox to the result channel instead of running anything.
[[noreturn]] void answer_probe(jail_plan& plan);

/// Completes the plan with a start as encode_begin() of zygote_wire.hpp wrote it. Throws step_failed.
void take_start(jail_plan& plan, std::string_view bytes, std::vector<unique_fd>& descriptors);

std::vector<std::string> make_environment(const run_request& request);  ///< NAME=value

/// Executes the program of the plan as it is. Throws step_failed when it cannot be started.
[[noreturn]] void execute_program(jail_plan& plan);

/// The same with the descriptors of a run, or answers the probe.
[[noreturn]] void execute_payload(jail_plan& plan);

}  // namespace cmcp::sandbox
