#include "jail/payload.hpp"

#include "facilities/setup_step.hpp"
#include "jail/zygote_wire.hpp"
#include "limits/limits.hpp"
#include "posix/child_process.hpp"
#include "posix/signals.hpp"
#include "probe/probe.hpp"

#include "wire/python_start.hpp"
#include "wire/wire.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmcp::sandbox {
namespace {

constexpr int script_descriptor = 3;
constexpr int result_descriptor = 4;

void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value)
{
    for (auto& entry : environment)
        if (entry.starts_with(name + "=")) {
            entry = name + "=" + value;
            return;
        }
    environment.push_back(name + "=" + value);
}

void duplicate_to(const unique_fd& from, int to)
{
    if (from)
        check(::dup2(from.get(), to), "place descriptors");
    else
        ::close(to);
}

// By a socket: some runs may have no memory file, and a pipe of a user who has many holds a single page. Its room is
// that of several programs.
void hand_over_program(jail_plan& plan, const python_start& python)
{
    constexpr const char* step = "hand over the program";
    if (plan.control.get() <= program_descriptor)
        plan.control.reset(check(::fcntl(plan.control.get(), F_DUPFD_CLOEXEC, program_descriptor + 1), step));
    int ends[2];
    check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), step);
    unique_fd theirs(ends[0]), ours(ends[1]);
    for (std::string_view rest = python.program; !rest.empty();)
        rest.remove_prefix(static_cast<std::size_t>(
            check(::send(ours.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL), step)));
    ours.reset();  // it may have the number that the program's needs
    if (theirs.get() == program_descriptor)
        check(::fcntl(theirs.release(), F_SETFD, 0), step);
    else
        check(::dup2(theirs.get(), program_descriptor), step);
    plan.request.argv = python.command_line();
}

}  // namespace

std::vector<std::string> make_environment(const run_request& request)
{
    const std::string account = request.machine ? "root" : "sandbox";
    std::vector<std::string> environment{std::string("PATH=") + (request.machine ? usual_path_of_root : usual_path),
                                         "HOME=" + request.workspace_inside,
                                         "LANG=C.UTF-8",
                                         "TERM=dumb",
                                         "USER=" + account,
                                         "LOGNAME=" + account};
    for (const auto& [name, value] : request.environment) set_variable(environment, name, value);
    return environment;
}

void install_descriptors(jail_plan& plan)
{
    const int control = plan.control.get();
    if (plan.input)
        check(::dup2(plan.input.get(), 0), "place descriptors");
    else
        check(::dup3(script_descriptor, 0, 0), "place descriptors");  // /dev/null is there until now
    duplicate_to(plan.output, 1);
    duplicate_to(plan.error, 2);
    duplicate_to(plan.script, script_descriptor);
    duplicate_to(plan.result, result_descriptor);
    unblock_signals();
    if (plan.probe) return;  // it looks at one more
    if (control > 5) check(::syscall(SYS_close_range, 5u, static_cast<unsigned>(control) - 1, 0), "close descriptors");
    check(::syscall(SYS_close_range, static_cast<unsigned>(control) + 1, ~0u, 0), "close descriptors");
}

void answer_probe(jail_plan& plan)
{
    ::prctl(PR_SET_DUMPABLE, 1);
    ::close(plan.control.get());
    report_probe(result_descriptor);
    ::_exit(0);
}

void take_start(jail_plan& plan, std::string_view bytes, std::vector<unique_fd>& descriptors)
{
    start_message start = decode_start(bytes);
    take_descriptors(plan, start, descriptors);
    plan.probe = start.probe;
    plan.request.terminal = start.request.terminal;
    plan.request.terminal_speaks = start.request.terminal_speaks;
    apply_cpu_limit(start.request.limits);
    if (!plan.request.browser) set_limit(RLIMIT_FSIZE, start.request.limits.file_size, "limit file size");
    plan.request.limits.process_memory = start.request.limits.process_memory;
    const std::string& folder = start.request.working_dir;
    if (!folder.empty()) check(::chdir(folder.c_str()), "working folder " + folder);
    if (start.request.argv.empty()) return;
    plan.request.argv = std::move(start.request.argv);
    plan.request.environment = std::move(start.request.environment);
}

void execute_program(jail_plan& plan)
{
    if (const auto python = python_start::read(plan.request.argv)) hand_over_program(plan, *python);
    std::vector<std::string> environment = make_environment(plan.request);
    stop_ignoring_signals();
    ::execve(plan.request.argv.at(0).c_str(), pointers(plan.request.argv).data(), pointers(environment).data());
    throw step_failed("start program " + plan.request.argv.at(0));
}

void execute_payload(jail_plan& plan)
{
    install_descriptors(plan);
    if (plan.probe) answer_probe(plan);
    execute_program(plan);
}

}  // namespace cmcp::sandbox
