#include "cell/program_maker.hpp"

#include "cell/browser_program.hpp"
#include "cell/held_program.hpp"
#include "facilities/setup_step.hpp"
#include "jail/closing.hpp"
#include "jail/payload.hpp"
#include "jail/terminal.hpp"
#include "limits/limits.hpp"
#include "wire/wire.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace cmcp::sandbox {

pid_t program_maker::make(const program_order& order, std::vector<unique_fd> descriptors) const
{
    if (descriptors.size() != (order.held ? 2 : 1)) throw step_failed("receive descriptors", EBADMSG);
    const pid_t process = check(may_interpret(order) ? fork() : ::fork(), "start a process");
    if (process != 0) return process;
    live(order, std::move(descriptors.front()), order.held ? descriptors.back().get() : -1);
}

// A command that starts at once has no use for Python, which would write to many pages to begin anew.
bool program_maker::may_interpret(const program_order& order) const
{
    return loaded_ != nullptr && !order.held && order.interprets;
}

pid_t program_maker::fork() const
{
    loaded_->before_fork();
    const pid_t child = ::fork();
    const int error = errno;
    if (child != 0) loaded_->parent_after_fork();
    errno = error;
    return child;
}

void program_maker::live(const program_order& order, unique_fd link, int library) const
{
    static_cast<void>(plan_.control.release());
    plan_.control = std::move(link);
    try {
        confine(library);
        if (order.held) hold(plan_, order.expected.request, library);
        stand_by(order);
    } catch (const std::exception& failure) {
        report_failure(plan_.control.get(), failure);
    }
    ::_exit(127);
}

// Other programs' sockets would stay open with a copy of theirs, and their ends would not be heard.
void program_maker::confine(int library) const
{
    close_all_but({0, 1, 2, 3, 4, plan_.control.get(), library, plan_.outside_socket.get()});
    if (plan_.programs_confine) give_up_privileges(plan_);
    check(::setsid(), "new session");
}

// Under load a start follows at once, and has no use for what only one that comes later profits from.
packet program_maker::await_start(bool waits) const
{
    constexpr int soon_ms = 10;
    pollfd start{plan_.control.get(), POLLIN, 0};
    if (loaded_ != nullptr && waits && ::poll(&start, 1, soon_ms) == 0) loaded_->rest();
    return await_packet_or_end(plan_.control.get());
}

void program_maker::stand_by(const program_order& order) const
{
    run_request expected = order.expected.request;
    expected.workspace_inside = plan_.request.workspace_inside;
    const bool interprets = may_interpret(order);
    if (interprets) loaded_->prepare(expected);
    tell_listener(plan_.control.get(), install_filters(plan_));
    send_packet(plan_.control.get(), encoded(child_says::waiting));
    packet message = await_start(order.waits);
    const arrived_start start = take_arrived_start(message);
    take_start(plan_, start.body, message.descriptors);
    take_terminal(plan_);
    if (plan_.request.browser) become_browser(plan_);
    const bool becomes_loaded = interprets && start.loaded;
    limit_process_memory(plan_.request.limits, becomes_loaded ? loaded_->own_data : 0);
    if (becomes_loaded)
        loaded_->become(plan_.request.argv == expected.argv && plan_.request.environment == expected.environment);
    execute_payload(plan_);
}

}  // namespace cmcp::sandbox
