#include "jail/cell_server.hpp"

#include "jail/closing.hpp"
#include "jail/payload.hpp"
#include "jail/sealed_memory.hpp"
#include "jail/session.hpp"
#include "jail/setup_step.hpp"
#include "posix/signals.hpp"
#include "wire/packet_socket.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace cmcp::sandbox {
namespace {

using clock = std::chrono::steady_clock;

// The time in which the last thing that a program started can become a nohup or a session of its own.
constexpr std::chrono::milliseconds before_hang_up{500};

struct left_session {
    pid_t session;
    clock::time_point due;
};

struct started_program {
    pid_t process;  // and its session
    unique_fd control;
    bool killed = false;
};

/// The loop of a cell's first process.
class cell_server {
public:
    cell_server(jail_plan& plan, session_list sessions)
        : plan_(plan), sessions_(std::move(sessions)), children_(watch_signals({SIGCHLD}))
    {
        check(children_.get(), "watch children");
    }

    [[noreturn]] void serve()
    {
        for (;;) look(wait());
    }

private:
    std::vector<pollfd> wait() const
    {
        std::vector<pollfd> all{{plan_.control.get(), POLLIN, 0}, {children_.get(), POLLIN, 0}};
        for (const auto& each : programs_)
            if (!each.killed) all.push_back({each.control.get(), POLLIN, 0});
        while (::poll(all.data(), all.size(), milliseconds_to_hang_up()) < 0 && errno == EINTR) {
        }
        return all;
    }

    int milliseconds_to_hang_up() const
    {
        if (left_.empty()) return -1;
        const auto time = std::chrono::ceil<std::chrono::milliseconds>(left_.front().due - clock::now());
        return static_cast<int>(std::max<std::int64_t>(time.count(), 0));
    }

    void hang_up()
    {
        while (!left_.empty() && clock::now() >= left_.front().due) {
            sessions_.hang_up(left_.front().session);
            left_.pop_front();
        }
    }

    void look(const std::vector<pollfd>& heard)
    {
        for (std::size_t i = 2; i < heard.size(); ++i)
            if (heard[i].revents != 0) kill(heard[i].fd);
        hang_up();
        if (heard[1].revents != 0) collect();
        if (heard[0].revents != 0) start(await_packet_or_end(plan_.control.get()));
    }

    // No cell lives on with a session that cannot be ended.
    void kill_session(pid_t session) const
    {
        if (!sessions_.kill(session)) ::_exit(1);
    }

    void kill(int control)
    {
        const auto hears = [control](const started_program& each) { return each.control.get() == control; };
        const auto place = std::find_if(programs_.begin(), programs_.end(), hears);
        if (place == programs_.end()) return;
        place->killed = true;
        ::kill(place->process, SIGKILL);  // before its session has begun, too
        kill_session(place->process);
    }

    void start(packet order)
    {
        if (order.descriptors.size() < 2) return;
        const unique_fd memory = std::exchange(order.descriptors[0], {});
        unique_fd control = std::exchange(order.descriptors[1], {});
        order.descriptors.erase(order.descriptors.begin(), order.descriptors.begin() + 2);
        try {
            const pid_t child = check(::fork(), "start a process");
            if (child == 0) become_program(memory.get(), std::move(control), std::move(order.descriptors));
            programs_.push_back({child, std::move(control)});
        } catch (const std::exception& failure) {
            tell_failure(control.get(), failure);
        }
    }

    // The session begins before anything that can fail, so that the first process never takes it for its own.
    [[noreturn]] void become_program(int memory, unique_fd control, std::vector<unique_fd> descriptors)
    {
        const int speaks = control.get();
        try {
            check(::setsid(), "new session");
            plan_.control = std::move(control);
            take_start(plan_, read_memory(memory, "read the start"), descriptors);
            install_filters(plan_);
            execute_payload(plan_);
        } catch (const std::exception& failure) {
            report_failure(speaks, failure);
        }
    }

    void collect()
    {
        signalfd_siginfo ignored;
        while (::read(children_.get(), &ignored, sizeof ignored) > 0) {
        }
        for (;;) {
            siginfo_t end{};
            if (::waitid(P_ALL, 0, &end, WEXITED | WNOWAIT | WNOHANG) != 0 || end.si_pid == 0) return;
            collect(end);
        }
    }

    // The number of a session stays taken while it has members, so what is killed is killed before it is collected.
    void collect(const siginfo_t& end)
    {
        const auto is_it = [&](const started_program& each) { return each.process == end.si_pid; };
        const auto place = std::find_if(programs_.begin(), programs_.end(), is_it);
        const bool known = place != programs_.end();
        const bool out_of_processes = known && lacked_processes(end);
        if (known && place->killed) kill_session(end.si_pid);
        if (known && !place->killed) left_.push_back({end.si_pid, clock::now() + before_hang_up});
        int status = 0;
        rusage used{};
        ::wait4(end.si_pid, &status, 0, &used);
        if (!known) return;
        tell_end(place->control.get(), status, used, out_of_processes);
        programs_.erase(place);
    }

    jail_plan& plan_;
    session_list sessions_;
    unique_fd children_;
    std::vector<started_program> programs_;
    std::deque<left_session> left_;  // of programs that have ended, the first due first
};

}  // namespace

void serve_cell(jail_plan& plan)
{
    const int control = plan.control.get();
    try {
        usage_sources seen = enter_jail(plan);
        cell_server(plan, session_list(std::move(seen.processes))).serve();
    } catch (const std::exception& failure) {
        report_failure(control, failure);
    }
}

}  // namespace cmcp::sandbox
