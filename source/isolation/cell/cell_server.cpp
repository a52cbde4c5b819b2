#include "cell/cell_server.hpp"

#include "cell/cell_sockets.hpp"
#include "cell/local_sockets.hpp"
#include "cell/program_maker.hpp"
#include "cell/session.hpp"
#include "facilities/setup_step.hpp"
#include "jail/closing.hpp"
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
#include <utility>
#include <vector>

namespace cmcp::sandbox {
namespace {

using clock = std::chrono::steady_clock;

// The time in which the last thing that a program started can become a nohup or a session of its own.
constexpr std::chrono::milliseconds before_hang_up{500};

struct cell_program {
    std::uint32_t number;
    pid_t process;  // and its session
    run_outputs outputs{};
    bool begun = false;
    bool killed = false;
};

struct left_session {
    pid_t session;
    run_outputs outputs;
    clock::time_point due;
};

program_end end_of(std::uint32_t number, int status, const rusage& used)
{
    return {number, status, processor_time(used), static_cast<std::uint64_t>(used.ru_maxrss) * 1024};
}

rusage use_of_children()
{
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    return used;
}

/// The loop of a cell's first process.
class cell_server {
public:
    /// `owns_namespace`: all other processes of the PID namespace are the cell's.
    cell_server(jail_plan& plan, unique_fd processes, const loaded_program* loaded, bool owns_namespace)
        : plan_(plan),
          owns_namespace_(owns_namespace),
          children_(watch_signals({SIGCHLD, end_signal()})),
          maker_(plan, loaded),
          locals_(plan.own_memory)
    {
        check(children_.get(), "watch children");
        if (plan.lasts) sessions_.emplace(std::move(processes));
    }

    [[noreturn]] void serve()
    {
        for (;;) {
            wait();
            obey_all();
            locals_.try_again();
            tell_refusals();  // before the end of a program that had them
            hang_up();
            collect();
        }
    }

private:
    void wait() const
    {
        pollfd all[] = {{plan_.control.get(), POLLIN, 0}, {children_.get(), POLLIN, 0}};
        while (::poll(all, 2, milliseconds_to_next_task()) < 0 && errno == EINTR) {
        }
    }

    int milliseconds_to_next_task() const
    {
        constexpr std::chrono::milliseconds between_tries{20};
        if (left_.empty() && !locals_.waits()) return -1;
        auto time = between_tries;
        if (!left_.empty()) time = std::chrono::ceil<std::chrono::milliseconds>(left_.front().due - clock::now());
        if (locals_.waits()) time = std::min(time, between_tries);
        return static_cast<int>(std::max<std::int64_t>(time.count(), 0));
    }

    void hang_up()
    {
        while (!left_.empty() && clock::now() >= left_.front().due) {
            sessions_->hang_up(left_.front().session, left_.front().outputs);
            left_.pop_front();
        }
    }

    void obey_all()
    {
        while (auto order = receive_packet(plan_.control.get())) {
            if (order->bytes.empty()) end(1);  // the launcher is gone
            obey(std::move(*order));
        }
    }

    [[noreturn]] void end(int status) const
    {
        if (owns_namespace_) end_all_others();
        ::_exit(status);
    }

    void obey(packet order)
    {
        const std::string_view rest = std::string_view(order.bytes).substr(1);
        switch (static_cast<cell_order>(order.bytes[0])) {
            case cell_order::program:
                return make(decode_program_order(rest), std::move(order.descriptors));
            case cell_order::begin:
                return begin(decode_begin_order(rest));
            case cell_order::kill:
                return kill(decode_kill_order(rest));
            case cell_order::hold:
                return hold(decode_hold_order(rest));
            case cell_order::socket:
                return hand_out_socket(plan_.control.get(), order.bytes);
            case cell_order::local:
                return locals_.take(rest, std::move(order.descriptors));
        }
    }

    void tell_refusals()
    {
        for (const local_sockets::refusal& each : locals_.take_refusals())
            send_packet_waiting(plan_.control.get(), encoded(child_says::refused, each.program, each.text));
    }

    void make(const program_order& order, std::vector<unique_fd> descriptors)
    try {
        const pid_t process = maker_.make(order, std::move(descriptors));
        programs_.push_back({order.number, process, {}, !plan_.lasts});
        if (plan_.lasts) send_packet_waiting(plan_.control.get(), encoded(child_says::program, order.number, process));
    } catch (const std::exception& failure) {
        send_packet_waiting(plan_.control.get(), encoded(child_says::program, order.number, pid_t{0}, error_of(failure),
                                                         std::string_view(failure.what())));
    }

    void begin(const begin_order& order)
    {
        const auto entry = program_of(order.number);
        if (entry == programs_.end()) return;
        entry->begun = true;
        entry->outputs = order.outputs;
        ::kill(entry->process, SIGCONT);  // an inmate may have stopped it
    }

    // No cell lives on with a session that cannot be ended.
    void kill_session(const cell_program& of) const
    {
        if (!sessions_->kill(of.process, of.outputs)) ::_exit(1);
    }

    void kill(std::uint32_t number)
    {
        const auto entry = program_of(number);
        if (entry == programs_.end() || !plan_.lasts) return;
        entry->killed = true;
        ::kill(entry->process, SIGKILL);  // before its session has begun, too
        kill_session(*entry);
    }

    // Inmates that wake each other are stopped, too, before they do. What cannot be held must not go on.
    void hold(bool on) const
    {
        if (!owns_namespace_) ::_exit(1);
        if (::kill(-1, on ? SIGSTOP : SIGCONT) != 0 && errno != ESRCH) end(1);
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
        const auto entry = program_with(process);
        if (entry == programs_.end() || !entry->begun || entry->killed) return;
        if (!plan_.lasts && (plan_.executes || !owns_namespace_)) return;
        const std::string output = "/proc/" + std::to_string(process) + "/fd/1";
        if (::access(output.c_str(), F_OK) == 0 || errno != ENOENT) return;
        const auto used = figures_of(process);
        if (!used) return;
        program_end ended{entry->number, 0, used->cpu, used->peak_memory};
        if (!plan_.lasts) end_with_it(ended);
        ended.left = sessions_->count(process, entry->outputs);
        if (ended.left.others != 0) --ended.left.others;  // itself, without descriptors
        ::kill(process, SIGKILL);
        leave(*entry);
        tell(ended);
        programs_.erase(entry);
    }

    // Of the only program.
    [[noreturn]] void end_with_it(program_end ended) const
    {
        ended.cpu += processor_time(use_of_children());
        ::kill(-1, SIGKILL);
        tell(ended);
        end(0);
    }

    void leave(const cell_program& ended)
    {
        left_.push_back({ended.process, ended.outputs, clock::now() + before_hang_up});
    }

    std::vector<cell_program>::iterator program_of(std::uint32_t number)
    {
        return std::find_if(programs_.begin(), programs_.end(),
                            [number](const cell_program& each) { return each.number == number; });
    }

    std::vector<cell_program>::iterator program_with(pid_t process)
    {
        return std::find_if(programs_.begin(), programs_.end(),
                            [process](const cell_program& each) { return each.process == process; });
    }

    // The number of a session stays taken while it has members, so what is killed is killed before it is collected.
    void collect(const siginfo_t& end)
    {
        const auto entry = program_with(end.si_pid);
        if (entry == programs_.end()) {
            ::wait4(end.si_pid, nullptr, 0, nullptr);
            return;
        }
        const bool out_of_processes = entry->begun && lacked_processes(end);
        left_processes left;
        if (plan_.lasts && entry->killed) kill_session(*entry);
        if (plan_.lasts && entry->begun) {
            if (!entry->killed) leave(*entry);
            left = sessions_->count(end.si_pid, entry->outputs);
        }
        int status = 0;
        rusage used{};
        ::wait4(end.si_pid, &status, 0, &used);
        if (!plan_.lasts && owns_namespace_) end_all_others();
        program_end ended = end_of(entry->number, status, plan_.lasts ? used : use_of_children());
        programs_.erase(entry);
        ended.out_of_processes = out_of_processes;
        ended.left = left;
        tell(ended);
        if (!plan_.lasts) ::_exit(0);
    }

    void tell(const program_end& ended) const
    {
        send_packet_waiting(plan_.control.get(), encoded(child_says::ended, ended));
    }

    jail_plan& plan_;
    bool owns_namespace_;
    std::optional<session_list> sessions_;  // of a cell that lasts
    unique_fd children_;
    program_maker maker_;
    local_sockets locals_;
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
        cell_server(plan, std::move(seen.processes), loaded, ::getpid() == 1).serve();
    } catch (const std::exception& failure) {
        report_failure(control, failure);
    }
}

}  // namespace

void serve_cell(jail_plan& plan) { serve(plan, nullptr); }

void serve_cell(jail_plan& plan, const loaded_program& loaded) { serve(plan, &loaded); }

void serve_made_cell(jail_plan& plan) { cell_server(plan, {}, nullptr, true).serve(); }

}  // namespace cmcp::sandbox
