#pragma once

#include "jail.hpp"

#include <signal.h>
#include <sys/types.h>

#include <string>

/// The last steps of a run's set-up and its end, which are the same however its namespaces and mounts were made. All that
/// can fail throw step_failed.
namespace cmcp::sandbox {

/// The kernel kills the caller when its parent ends. A change of user or of capabilities clears that again.
void die_with_launcher();

void enter_working_folder(const run_request& request);

/// Profile, capabilities, Landlock, system call filters: nothing of it can be taken back.
void give_up_privileges(const jail_plan& plan);

/// Tells the launcher that a step failed, and ends the process.
[[noreturn]] void report_failure(int control, const std::string& step, int error);

/// Kills every process of this PID namespace but its first and the caller, and collects what are the caller's children. Only
/// where the caller knows that the namespace is the run's own: elsewhere "all" would be the machine.
void end_all_others();

/// While the payload, ended but not yet collected, still takes its place: whether one more process would be one too many.
bool at_process_limit();

/// Whether the end that waitid() tells of is no plain success.
bool ended_badly(const siginfo_t& end);

/// Tells the launcher how the payload ended. `status`: its wait status.
void report_end(int control, int status, bool out_of_processes);

}  // namespace cmcp::sandbox
