#include "cell/browser_program.hpp"

#include "facilities/namespaces.hpp"
#include "facilities/setup_step.hpp"
#include "jail/payload.hpp"
#include "posix/child_process.hpp"
#include "wire/packet_socket.hpp"

#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <vector>

namespace cmcp::sandbox {
namespace {

unique_fd listen_at(std::uint16_t port)
{
    constexpr const char* step = "open a proxy port";
    unique_fd listener(check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), step));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), step);
    check(::listen(listener.get(), 128), step);
    return listener;
}

// Seen by its effect: without the filter the kernel finds fault with the descriptor of a call that is not in the list.
void check_filter()
{
    if (::syscall(SYS_vmsplice, -1, nullptr, 0, 0) != -1 || errno != ENOSYS)
        throw step_failed("filter the browser's system calls");
}

// A namespace without a map of its users has no further one inside.
int tried_user_namespace(int further_kinds)
try {
    check(::syscall(SYS_unshare, CLONE_NEWUSER | further_kinds), own_sandbox_step);
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

void hand_over(const jail_plan& plan, bool own_sandbox)
{
    std::vector<unique_fd> listeners;
    for (std::uint32_t i = 0; i < plan.request.browser.ports; ++i)
        listeners.push_back(listen_at(static_cast<std::uint16_t>(first_proxy_port + i)));
    const unique_fd first(check(static_cast<int>(::syscall(SYS_pidfd_open, 1, 0)), "find the first process"));
    std::vector<int> all;
    for (const auto& listener : listeners) all.push_back(listener.get());
    all.push_back(first.get());
    const char letter = own_sandbox ? browser_part::own_sandbox : browser_part::no_own_sandbox;
    if (!send_packet(plan.script.get(), {&letter, 1}, all)) throw step_failed("hand over the proxy ports", EAGAIN);
}

}  // namespace

void become_browser(jail_plan& plan)
{
    check_filter();
    const browser_part& browser = plan.request.browser;
    const int obstacle = obstacle_to_own_sandbox();
    if (obstacle != 0 && (browser.trial || !browser.may_lack_own_sandbox))
        throw step_failed(own_sandbox_step, obstacle);
    if (browser.trial) ::_exit(0);
    if (obstacle != 0) plan.request.argv.emplace_back("--no-sandbox");
    hand_over(plan, obstacle == 0);
    install_descriptors(plan);
    check(::dup2(3, 4), "place descriptors");  // where --remote-debugging-pipe writes
    execute_program(plan);
}

}  // namespace cmcp::sandbox
