#pragma once

#include "jail/jail.hpp"
#include "limits/watchdog.hpp"
#include "wire/run_result.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <exception>
#include <optional>
#include <vector>

/// The last steps of a run's set-up and its end, which are the same however its namespaces and mounts were made. All
/// that can fail throw step_failed.
namespace cmcp::sandbox {

std::chrono::microseconds processor_time(const rusage& used);

void tell_ready(int control, const usage_sources& sources);

void enter_working_folder(const run_request& request);

/// Profile, capabilities, no_new_privs, Landlock: nothing of it can be taken back.
void give_up_privileges(const jail_plan& plan);

/// The system call filters, in the payload's own process before any code of the caller: a chain of ancestors can have
/// one listener, and each payload has its own.
/// Returns the listener for tell_listener(); none: refused calls fail all the same, but nobody hears of them.
unique_fd install_filters(const jail_plan& plan);
void tell_listener(int control, const unique_fd& listener);

/// Tells the launcher that a step failed.
void tell_failure(int control, const std::exception& failure);

/// The same, and ends the process.
[[noreturn]] void report_failure(int control, const std::exception& failure);

/// Whether a payload has ended badly while its cell could not have made one more process. Called before it is
/// collected, because until then it counts as a process.
bool lacked_processes(const siginfo_t& end);

/// Kills every process of this PID namespace but its first and the caller, and collects the caller's children.
/// Only where the caller knows that the namespace is the run's own: elsewhere "all" would be the machine.
void end_all_others();

/// The payload of a run tells the first process by this signal that it ends with exit code 0 and did all it had to.
/// Taking down its memory takes longer than many runs do, and nobody needs to wait for that.
int end_signal();
/// In the payload, which has no descriptors afterwards; nothing where it had children, whose times count, too, or where
/// it has living ones and does not share its cell.
void tell_end_in_advance(bool shares_cell);

/// The use of a payload that has not ended quite yet; nothing: it cannot be seen.
struct figures_of_payload {
    std::chrono::microseconds cpu{0};
    std::uint64_t peak_memory = 0;  ///< bytes
};
std::optional<figures_of_payload> figures_of(pid_t payload);

}  // namespace cmcp::sandbox
