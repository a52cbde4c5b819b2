#include "closing.hpp"

#include "fault.hpp"
#include "sandbox/apparmor.hpp"
#include "sandbox/capabilities.hpp"
#include "sandbox/packet_socket.hpp"
#include "sandbox/setup_step.hpp"
#include "sandbox/wire.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace cmcp::sandbox {
namespace {

// Some containers have a listener of their own: then refused calls fail all the same, but nobody hears of them.
void install_filters(const jail_plan& plan)
{
    const unique_fd listener = plan.announcing != nullptr ? install_announcing_filter(*plan.announcing) : unique_fd();
    const int fd = listener.get();
    if (listener) send_packet(plan.control.get(), std::string(1, static_cast<char>(child_says::listen)), {&fd, 1});
    for (const bpf_program* filter : plan.filters)
        if (!(listener && filter == plan.filters.front()) && !install_filter(*filter)) throw step_failed("system call filter");
}

void enter_profile(const jail_plan& plan)
{
    if (plan.apparmor.empty() || left_out("apparmor")) return;
    const int error = plan.executes ? enter_apparmor_at_exec(plan.apparmor) : enter_apparmor(plan.apparmor);
    if (error != 0) throw step_failed("AppArmor", error);
}

}  // namespace

void die_with_launcher() { check(::prctl(PR_SET_PDEATHSIG, SIGKILL), "die with the launcher"); }

void enter_working_folder(const run_request& request)
{
    const auto& folder = request.working_dir.empty() ? request.workspace_inside : request.working_dir;
    check(::chdir(folder.c_str()), "working folder " + folder);
}

void give_up_privileges(const jail_plan& plan)
{
    if (!left_out("capabilities") && !drop_all_capabilities()) throw step_failed("drop capabilities");
    enter_profile(plan);   // which lets nobody use one any more, not even to drop the others
    // Landlock and seccomp set it too.
    if (!left_out("no_new_privs")) check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "forbid new privileges");
    die_with_launcher();
    if (!left_out("landlock") && !apply_landlock(plan.rules)) throw step_failed("Landlock");
    if (!left_out("seccomp")) install_filters(plan);
}

void report_failure(int control, const std::string& step, int error)
{
    wire_writer message;
    message.number(static_cast<char>(child_says::failed));
    message.number<std::int32_t>(error);
    message.text(step);
    send_packet(control, message.take());
    ::_exit(1);
}

void end_all_others()
{
    ::kill(-1, SIGKILL);
    while (::wait4(-1, nullptr, 0, nullptr) > 0 || errno == EINTR) {}
}

bool at_process_limit()
{
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    if (child < 0) return errno == EAGAIN;
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
    return false;
}

bool ended_badly(const siginfo_t& end) { return end.si_code != CLD_EXITED || end.si_status != 0; }

void report_end(int control, int status, bool out_of_processes)
{
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    wire_writer message;
    message.number(static_cast<char>(child_says::ended));
    message.number<std::int32_t>(status);
    for (const timeval& time : {used.ru_utime, used.ru_stime}) message.number<std::int64_t>(time.tv_sec * 1'000'000 + time.tv_usec);
    message.number<std::uint64_t>(static_cast<std::uint64_t>(used.ru_maxrss) * 1024);
    message.number(out_of_processes);
    send_packet(control, message.take());
}

}  // namespace cmcp::sandbox
