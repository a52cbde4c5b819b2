#include "cell/cell_server.hpp"

#include "cell/cell_sockets.hpp"
#include "cell/session.hpp"
#include "cell/standby_programs.hpp"
#include "jail/closing.hpp"
#include "jail/setup_step.hpp"
#include "posix/signals.hpp"
#include "wire/packet_socket.hpp"
#include "wire/wire.hpp"

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
#include <string>
#include <utility>
#include <vector>

namespace cmcp::sandbox {
namespace {

using clock = std::chrono::steady_clock;

// The time in which the last thing that a program started can become a nohup or a session of its own.
constexpr std::chrono::milliseconds before_hang_up{500};

struct left_session {
    pid_t session;
    run_outputs outputs;
    clock::time_point due;
};

/// The loop of a cell's first process.
class cell_server {
public:
    cell_server(jail_plan& plan, session_list sessions, const loaded_program* loaded)
        : plan_(plan),
          sessions_(std::move(sessions)),
          children_(watch_signals({SIGCHLD, end_signal()})),
          standby_(plan, loaded)
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
        if (standby_.link() >= 0) all.push_back({standby_.link(), POLLIN, 0});
        while (::poll(all.data(), all.size(), milliseconds_to_next_task()) < 0 && errno == EINTR) {
        }
        return all;
    }

    int milliseconds_to_next_task() const
    {
        const auto task = standby_.next_task();
        const auto next = left_.empty() ? task : std::min(left_.front().due, task);
        if (next == clock::time_point::max()) return -1;
        const auto time = std::chrono::ceil<std::chrono::milliseconds>(next - clock::now());
        return static_cast<int>(std::max<std::int64_t>(time.count(), 0));
    }

    void hang_up()
    {
        while (!left_.empty() && clock::now() >= left_.front().due) {
            sessions_.hang_up(left_.front().session, left_.front().outputs);
            left_.pop_front();
        }
    }

    void look(const std::vector<pollfd>& heard)
    {
        for (std::size_t i = 2; i < heard.size(); ++i)
            if (heard[i].revents != 0) kill(heard[i].fd);
        standby_.hear();
        hang_up();
        if (heard[1].revents != 0) collect();
        if (heard[0].revents != 0) obey(await_packet_or_end(plan_.control.get()));
        if (clock::now() >= standby_.next_task()) standby_.look();
    }

    // No cell lives on with a session that cannot be ended.
    void kill_session(pid_t session) const
    {
        if (!sessions_.kill(session)) ::_exit(1);
    }

    void kill(int control)
    {
        const auto hears = [control](const cell_program& each) { return each.control.get() == control; };
        const auto place = std::find_if(programs_.begin(), programs_.end(), hears);
        if (place == programs_.end()) return;
        place->killed = true;
        ::kill(place->process, SIGKILL);  // before its session has begun, too
        kill_session(place->process);
    }

    // A start has descriptors, an order of a socket has none.
    void obey(packet order)
    {
        if (order.descriptors.empty()) return hand_out_socket(plan_.control.get(), order.bytes);
        start(std::move(order));
    }

    void start(packet order)
    {
        if (order.descriptors.size() < 2) return;
        try {
            programs_.push_back(standby_.begin(order));
        } catch (const std::exception& failure) {
            tell_failure(order.descriptors[1].get(), failure);
        }
    }

    void collect()
    {
        signalfd_siginfo heard;
        while (::read(children_.get(), &heard, sizeof heard) > 0)
            if (heard.ssi_signo == static_cast<std::uint32_t>(end_signal()))
                end_in_advance(static_cast<pid_t>(heard.ssi_pid));
        for (;;) {
            siginfo_t end{};
            if (::waitid(P_ALL, 0, &end, WEXITED | WNOWAIT | WNOHANG) != 0 || end.si_pid == 0) return;
            collect(end);
        }
    }

    // Any inmate can send the signal in another's name, but not close its descriptors.
    void end_in_advance(pid_t process)
    {
        const auto place = program_of(process);
        if (place == programs_.end() || place->killed) return;
        const std::string output = "/proc/" + std::to_string(process) + "/fd/1";
        if (::access(output.c_str(), F_OK) == 0 || errno != ENOENT) return;
        const auto used = figures_of(process);
        if (!used) return;
        left_processes left = sessions_.count(process, place->outputs);
        if (left.others != 0) --left.others;  // itself, without descriptors
        ::kill(process, SIGKILL);
        left_.push_back({process, place->outputs, clock::now() + before_hang_up});
        tell_end(place->control.get(), *used, left);
        programs_.erase(place);
    }

    std::vector<cell_program>::iterator program_of(pid_t process)
    {
        return std::find_if(programs_.begin(), programs_.end(),
                            [process](const cell_program& each) { return each.process == process; });
    }

    // The number of a session stays taken while it has members, so what is killed is killed before it is collected.
    void collect(const siginfo_t& end)
    {
        const auto place = program_of(end.si_pid);
        const bool known = place != programs_.end();
        const bool out_of_processes = known && lacked_processes(end);
        if (known && place->killed) kill_session(end.si_pid);
        if (known && !place->killed) left_.push_back({end.si_pid, place->outputs, clock::now() + before_hang_up});
        left_processes left;
        if (known && !place->killed) left = sessions_.count(end.si_pid, place->outputs);
        int status = 0;
        rusage used{};
        ::wait4(end.si_pid, &status, 0, &used);
        if (!known) return standby_.lose(end.si_pid);
        pass_on(place->link, place->control);
        tell_end(place->control.get(), status, used, out_of_processes, left);
        programs_.erase(place);
    }

    jail_plan& plan_;
    session_list sessions_;
    unique_fd children_;
    standby_programs standby_;
    std::vector<cell_program> programs_;
    std::deque<left_session> left_;  // of programs that have ended, the first due first
};

[[noreturn]] void serve(jail_plan& plan, const loaded_program* loaded)
{
    const int control = plan.control.get();
    const std::uint64_t memory = plan.request.limits.memory;
    try {
        if (loaded != nullptr) plan.request.limits.memory += loaded->own_data;
        usage_sources seen = enter_jail(plan);
        plan.request.limits.memory = memory;
        cell_server(plan, session_list(std::move(seen.processes)), loaded).serve();
    } catch (const std::exception& failure) {
        report_failure(control, failure);
    }
}

}  // namespace

void serve_cell(jail_plan& plan) { serve(plan, nullptr); }

void serve_cell(jail_plan& plan, const loaded_program& loaded) { serve(plan, &loaded); }

}  // namespace cmcp::sandbox
