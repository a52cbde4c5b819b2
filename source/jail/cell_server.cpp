#include "jail/cell_server.hpp"

#include "jail/closing.hpp"
#include "jail/fault.hpp"
#include "jail/limits.hpp"
#include "jail/payload.hpp"
#include "jail/sealed_memory.hpp"
#include "jail/session.hpp"
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
#include <optional>
#include <system_error>
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

struct standby_process {
    pid_t process;
    unique_fd orders;
};

// After a start, before the next process is made to stand by.
constexpr std::chrono::milliseconds quiet_after_start{10};

struct started_program {
    pid_t process;  // and its session
    unique_fd control;
    bool killed = false;
};

/// The loop of a cell's first process.
class cell_server {
public:
    cell_server(jail_plan& plan, session_list sessions, const loaded_program* loaded)
        : plan_(plan), sessions_(std::move(sessions)), children_(watch_signals({SIGCHLD})), loaded_(loaded)
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
        while (::poll(all.data(), all.size(), milliseconds_to_next_task()) < 0 && errno == EINTR) {
        }
        return all;
    }

    int milliseconds_to_next_task() const
    {
        const auto next = left_.empty() ? make_standby_at_ : std::min(left_.front().due, make_standby_at_);
        if (next == clock::time_point::max()) return -1;
        const auto time = std::chrono::ceil<std::chrono::milliseconds>(next - clock::now());
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
        refill();
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

    // A standby process that an inmate has killed is replaced once.
    void start(packet order)
    {
        if (order.descriptors.size() < 2) return;
        try {
            if (!standby_ || !hand_over(order)) {
                make_standby();
                if (!hand_over(order)) throw step_failed("hand over the start", EPIPE);
            }
            programs_.push_back({standby_->process, std::move(order.descriptors[1])});
            forget_standby();
        } catch (const std::exception& failure) {
            tell_failure(order.descriptors[1].get(), failure);
        }
    }

    bool hand_over(const packet& order) const
    try {
        std::vector<int> numbers;
        for (const unique_fd& each : order.descriptors) numbers.push_back(each.get());
        ::kill(standby_->process, SIGCONT);  // an inmate may have stopped it
        return send_packet(standby_->orders.get(), order.bytes, numbers);
    } catch (const std::system_error&) {
        return false;
    }

    void forget_standby()
    {
        standby_.reset();
        make_standby_at_ = clock::now() + quiet_after_start;
        tell_standby(0);
    }

    void tell_standby(pid_t process) const { send_packet(plan_.control.get(), encoded(child_says::standby, process)); }

    void make_standby()
    {
        make_standby_at_ = clock::time_point::max();
        auto [ours, theirs] = packet_socket_pair();
        const pid_t child = check(fork_standby(), "start a process");
        if (child == 0) stand_by(std::move(theirs));
        standby_.emplace(standby_process{child, std::move(ours)});
        tell_standby(child);
    }

    pid_t fork_standby() const
    {
        if (loaded_ == nullptr) return ::fork();
        loaded_->before_fork();
        const pid_t child = ::fork();
        const int error = errno;
        if (child != 0) loaded_->parent_after_fork();
        errno = error;
        return child;
    }

    // Other programs' sockets would stay open with a copy of theirs, and their ends would not be heard.
    static void keep_only(int orders) { close_all_but({0, 1, 2, 3, 4, orders}); }

    // A step that fails is told once there is a run to tell it to.
    [[noreturn]] void stand_by(unique_fd orders)
    {
        std::optional<step_failed> failed;
        unique_fd listener;
        try {
            keep_only(orders.get());
            static_cast<void>(plan_.control.release());
            check(::setsid(), "new session");
            if (loaded_ != nullptr) loaded_->prepare();
            listener = install_filters(plan_);
        } catch (const std::exception& failure) {
            failed.emplace(failure.what(), error_of(failure));
        }
        packet order = await_packet_or_end(orders.get());
        orders.reset();
        plan_.control = std::move(order.descriptors[1]);
        try {
            if (failed) throw step_failed(*failed);
            tell_listener(plan_.control.get(), listener);
            listener.reset();
            become_program(std::move(order));
        } catch (const std::exception& failure) {
            report_failure(plan_.control.get(), failure);
        }
    }

    [[noreturn]] void become_program(packet order)
    {
        const unique_fd memory = std::move(order.descriptors[0]);
        order.descriptors.erase(order.descriptors.begin(), order.descriptors.begin() + 2);
        take_start(plan_, read_memory(memory.get(), "read the start"), order.descriptors);
        const bool becomes_loaded = loaded_ != nullptr && order.bytes == begin_loaded;
        limit_memory(becomes_loaded ? loaded_->own_data : 0);
        if (becomes_loaded) loaded_->become();
        execute_payload(plan_);
    }

    // The first process has the limit of the cell, with the data of what it has loaded.
    void limit_memory(std::uint64_t own_data) const
    {
        const run_limits& limits = plan_.request.limits;
        if (left_out("rlimits")) return;
        const std::uint64_t most = limits.process_memory != 0 ? limits.process_memory : limits.memory;
        set_limit(RLIMIT_DATA, std::min(most, limits.memory) + own_data, "limit memory");
    }

    // While none can be made, a start tries again and tells why.
    void refill()
    try {
        if (clock::now() >= make_standby_at_) make_standby();
    } catch (const std::exception&) {
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
        const std::size_t left_behind = known && !place->killed ? sessions_.count(end.si_pid) : 0;
        int status = 0;
        rusage used{};
        ::wait4(end.si_pid, &status, 0, &used);
        if (standby_ && standby_->process == end.si_pid) forget_standby();
        if (!known) return;
        tell_end(place->control.get(), status, used, out_of_processes, left_behind);
        programs_.erase(place);
    }

    jail_plan& plan_;
    session_list sessions_;
    unique_fd children_;
    const loaded_program* loaded_;  // none: everything is executed
    std::optional<standby_process> standby_;
    clock::time_point make_standby_at_ = clock::time_point::max();
    std::vector<started_program> programs_;
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
