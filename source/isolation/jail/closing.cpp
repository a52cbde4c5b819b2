#include "jail/closing.hpp"

#include "facilities/apparmor.hpp"
#include "facilities/capabilities.hpp"
#include "facilities/fault.hpp"
#include "facilities/process_files.hpp"
#include "facilities/setup_step.hpp"
#include "posix/child_process.hpp"
#include "wire/packet_socket.hpp"
#include "wire/wire.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <string>

namespace cmcp::sandbox {
namespace {

// Bytes; 0: not known, as where there is no /proc. Streams of the C++ library would touch 40 pages in each clone.
std::uint64_t peak_memory_of(pid_t process)
{
    return bytes_in_line(read_text(AT_FDCWD, "/proc/" + std::to_string(process) + "/status"), "\nVmHWM:");
}

// While the payload, ended but not yet collected, still counts as a process: whether one more process would be one too
// many.
bool at_process_limit()
{
    return in_forked_child([] { return 0; }) < 0 && errno == EAGAIN;
}

bool ended_badly(const siginfo_t& end) { return end.si_code != CLD_EXITED || end.si_status != 0; }

void enter_profile(const jail_plan& plan)
{
    if (plan.apparmor.empty() || left_out("apparmor")) return;
    const int error = plan.executes ? enter_apparmor_at_exec(plan.apparmor) : enter_apparmor(plan.apparmor);
    if (error != 0) throw step_failed("AppArmor", error);
}

// Landlock forbids all mounts, and what a machine reaches is what its own mount namespace shows. One that is full may
// only be emptied.
bool takes_landlock(const jail_plan& plan) { return !left_out("landlock") && (!plan.machine || plan.machine->full); }

bool give_up_capabilities(const jail_plan& plan)
{
    return plan.machine ? keep_only_root_inside(plan.machine->nested) : drop_all_capabilities();
}

}  // namespace

std::chrono::microseconds processor_time(const rusage& used)
{
    return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

void tell_ready(int control, const usage_sources& sources)
{
    send_packet(control, encoded(child_says::ready), sources.descriptors());
}

void enter_working_folder(const run_request& request)
{
    const auto& folder = request.working_dir.empty() ? request.workspace_inside : request.working_dir;
    check(::chdir(folder.c_str()), "working folder " + folder);
}

void give_up_privileges(const jail_plan& plan)
{
    if (!left_out("capabilities") && !give_up_capabilities(plan)) throw step_failed("drop capabilities");
    enter_profile(plan);  // which lets nobody use one any more, not even to drop the others
    // Landlock and seccomp set it too.
    if (!left_out("no_new_privs")) check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "forbid new privileges");
    die_with_parent();
    if (takes_landlock(plan) && !apply_landlock(plan.rules, plan.execution.get())) throw step_failed("Landlock");
}

// Some containers have a listener of their own, beside which there can be no other.
unique_fd install_filters(const jail_plan& plan)
{
    if (left_out("seccomp")) return {};
    unique_fd listener = plan.announcing != nullptr ? install_announcing_filter(*plan.announcing) : unique_fd();
    for (const bpf_program* filter : plan.filters)
        if (!(listener && filter == plan.filters.front()) && !install_filter(*filter))
            throw step_failed("system call filter");
    return listener;
}

void tell_listener(int control, const unique_fd& listener)
{
    const int fd = listener.get();
    if (listener) send_packet(control, encoded(child_says::listen), {&fd, 1});
}

void tell_failure(int control, const std::exception& failure)
{
    send_packet(control, encoded(child_says::failed, error_of(failure), std::string_view(failure.what())));
}

void report_failure(int control, const std::exception& failure)
{
    tell_failure(control, failure);
    ::_exit(1);
}

bool lacked_processes(const siginfo_t& end) { return ended_badly(end) && at_process_limit(); }

void end_all_others()
{
    ::kill(-1, SIGKILL);
    while (::wait4(-1, nullptr, 0, nullptr) > 0 || errno == EINTR) {
    }
}

int end_signal() { return SIGRTMIN + 5; }

void tell_end_in_advance(bool shares_cell)
{
    rusage children{};
    ::getrusage(RUSAGE_CHILDREN, &children);
    const bool alone = shares_cell || (::kill(-1, 0) != 0 && errno == ESRCH);
    if (!alone || children.ru_maxrss != 0) return;
    ::syscall(SYS_close_range, 0u, ~0u, 0);  // locks and whatever else descriptors hold must be free for the next run
    if (::sigqueue(1, end_signal(), {}) != 0) return;
    constexpr int patience_ms = 5;
    ::poll(nullptr, 0,
           patience_ms);  // the first process kills this one, and its own end would keep a processor from it
}

std::optional<figures_of_payload> figures_of(pid_t payload)
{
    const std::uint64_t peak = peak_memory_of(payload);
    timespec used{};
    clockid_t clock{};
    if (peak == 0 || ::clock_getcpuclockid(payload, &clock) != 0 || ::clock_gettime(clock, &used) != 0)
        return std::nullopt;
    return figures_of_payload{std::chrono::seconds(used.tv_sec) + std::chrono::microseconds(used.tv_nsec / 1000), peak};
}

}  // namespace cmcp::sandbox
