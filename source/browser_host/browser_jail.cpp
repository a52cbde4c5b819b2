#include "browser_host/browser_jail.hpp"

#include "browser_host/browser_calls.hpp"
#include "jail/capabilities.hpp"
#include "jail/limits.hpp"
#include "jail/payload.hpp"
#include "jail/seccomp_filter.hpp"
#include "jail/setup_step.hpp"
#include "posix/child_process.hpp"
#include "posix/signals.hpp"
#include "wire/packet_socket.hpp"

#include <netinet/in.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <span>
#include <vector>

namespace cmcp::browser_host {
namespace {

using namespace sandbox;
using browser_host_protocol::event;
using browser_host_protocol::event_message;

constexpr int stream_in = 3;   // where --remote-debugging-pipe reads
constexpr int stream_out = 4;  // where it writes
constexpr std::uint64_t most_threads =
    3000;  // of all its processes; a page with a dozen frames of other sites has some 500

unique_fd listen_at(std::uint16_t port)
{
    unique_fd listener(check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "open a proxy port"));
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), "open a proxy port");
    check(::listen(listener.get(), 128), "open a proxy port");
    return listener;
}

std::vector<unique_fd> make_listeners(std::uint32_t count)
{
    std::vector<unique_fd> all;
    for (std::uint32_t i = 0; i < count; ++i)
        all.push_back(listen_at(static_cast<std::uint16_t>(browser_host_protocol::first_proxy_port + i)));
    return all;
}

void report(int control, const event_message& message, std::span<const int> descriptors = {})
{
    send_packet(control, encoded(message), descriptors);
}

void report_ready(int control, bool own_sandbox, const std::vector<unique_fd>& listeners, const usage_sources& mounts)
{
    std::vector<int> all;
    for (const auto& listener : listeners) all.push_back(listener.get());
    for (const int fd : mounts.descriptors()) all.push_back(fd);
    report(control, {.what = event::ready, .own_sandbox = own_sandbox}, all);
}

void give_up_privileges()
{
    if (!drop_all_capabilities()) throw step_failed("drop capabilities");
    check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "forbid new privileges");
    die_with_parent();
    set_limit(RLIMIT_CORE, 0, "limit core files");
    set_limit(RLIMIT_NPROC, most_threads, "limit processes");
}

// Seen by its effect: without the filter the kernel finds fault with the descriptor of a call that is not in the list.
bool only_listed_calls() { return ::syscall(SYS_vmsplice, -1, nullptr, 0, 0) == -1 && errno == ENOSYS; }

void filter_calls()
{
    const bool installed = install_filter(compile_rules(browser_calls(), ENOSYS));
    if (!installed || !only_listed_calls()) throw step_failed("filter the browser's system calls");
}

// A namespace without a map of its users has no further one inside.
int tried_user_namespace(int further_kinds)
try {
    check(::syscall(SYS_unshare, CLONE_NEWUSER | further_kinds), browser_host_protocol::own_sandbox_step);
    map_own_ids(inside_ids);
    return 0;
} catch (const step_failed& failure) {
    return failure.error;
}

// The browser's sandbox is made of further user namespaces, one inside the other: whether it can be is found by trying.
// The error, or 0.
int obstacle_to_own_sandbox()
{
    const int status = in_forked_child([] {
        const int outer = tried_user_namespace(CLONE_NEWPID | CLONE_NEWNET);
        return outer != 0 ? outer : WEXITSTATUS(in_forked_child([] { return tried_user_namespace(0); }));
    });
    return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

[[noreturn]] void exec_browser(jail_plan& plan)
{
    check(::setsid(), "new session");
    check(::dup2(plan.error.get(), 2), "place descriptors");
    check(::dup2(plan.stream.get(), stream_in), "place descriptors");
    check(::dup2(plan.stream.get(), stream_out), "place descriptors");
    check(::syscall(SYS_close_range, 5u, ~0u, 0x4 /* CLOSE_RANGE_CLOEXEC */), "close descriptors");
    unblock_signals();
    std::vector<std::string> environment{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "USER=sandbox",
                                         std::string("HOME=") + home, "DBUS_SESSION_BUS_ADDRESS=disabled:"};
    auto arguments = pointers(plan.start.argv);
    auto variables = pointers(environment);
    ::execve(arguments[0], arguments.data(), variables.data());
    throw step_failed("start program " + plan.start.argv.at(0));
}

// Process 1: collects the orphans; its own end is the end of every process of the browser.
[[noreturn]] void reap_until_end(jail_plan& plan, pid_t browser)
{
    plan.stream.reset();
    plan.error.reset();
    for (;;) {
        int status = 0;
        const pid_t ended = ::wait4(-1, &status, 0, nullptr);
        if (ended < 0 && errno != EINTR) ::_exit(1);
        if (ended != browser) continue;
        report(plan.control.get(), {.what = event::ended, .status = status});
        ::_exit(0);
    }
}

void enter_jail(jail_plan& plan)
{
    die_with_parent();
    if (plan.maps_itself) map_own_ids(plan.outside);
    await_packet_or_end(plan.control.get());
    become_inside_user(!plan.maps_itself);
    bring_loopback_up();
    const auto listeners = make_listeners(plan.start.proxies);
    const auto mounts = enter_browser_root(plan);
    check(::sethostname("browser", 7), "set the host name");
    forget_keyrings();
    check(::setsid(), "new session");
    give_up_privileges();
    filter_calls();
    const int obstacle = obstacle_to_own_sandbox();
    if (obstacle != 0 && plan.start.needs_own_sandbox)
        throw step_failed(browser_host_protocol::own_sandbox_step, obstacle);
    if (obstacle != 0) plan.start.argv.emplace_back("--no-sandbox");
    report_ready(plan.control.get(), obstacle == 0, listeners, mounts);
}

[[noreturn]] void report_failure(int control, const std::exception& failure)
{
    report(control, {.error = error_of(failure), .step = failure.what()});
    ::_exit(1);
}

}  // namespace

void become_browser(jail_plan& plan)
{
    const int control = plan.control.get();
    try {
        enter_jail(plan);
        if (plan.start.trial) ::_exit(0);
        const pid_t child = check(::fork(), "start a process");
        if (child == 0) exec_browser(plan);
        reap_until_end(plan, child);
    } catch (const std::exception& failure) {
        report_failure(control, failure);
    }
}

}  // namespace cmcp::browser_host
