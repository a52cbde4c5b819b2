#include "launcher/run.hpp"

#include "cell/cell_server.hpp"
#include "jail/held_program.hpp"
#include "jail/limits.hpp"
#include "jail/sealed_memory.hpp"
#include "jail/setup_step.hpp"
#include "jail/zygote_wire.hpp"
#include "wire/wire.hpp"

#include <algorithm>
#include <system_error>
#include <tuple>

namespace cmcp::sandbox {

namespace {

constexpr std::chrono::milliseconds between_answers{50};
constexpr std::chrono::seconds patience_with_session{5};  // with a session that is to end

}  // namespace

run::run(const shared_parts& parts, const run_request& request, bool probe)
    : cell_(std::make_shared<cell>(parts, request, probe)), processes_(request.limits.processes)
{
}

run::run(std::shared_ptr<cell> joined, const start_message& start, const std::vector<unique_fd>& descriptors,
         bool loaded)
    : cell_(std::move(joined)),
      processes_(start.request.limits.processes),
      program_(loaded ? program::cloned : program::executed),
      refused_forks_(cell_->refused_forks())
{
    const unique_fd memory = sealed_memory("start", encode_begin(start, true));
    unique_fd theirs;
    std::tie(own_control_, theirs) = packet_socket_pair();
    hand_over(std::string(loaded ? begin_loaded : begin_executed), start, descriptors, {memory.get(), theirs.get()});
    next_look_ = begun_ + between_answers;
}

void run::launch(const start_message& start, std::vector<unique_fd> descriptors)
{
    take_descriptors(cell_->plan(), start, descriptors);
    begin_clock(start);
    cell_->launch(run_child);
}

void run::launch_standby(int library)
{
    program_ = library >= 0 ? program::held : program::executed_when_told;
    phase_ = phase::closes_in;
    cell_->plan().held_library = library;
    cell_->launch(library >= 0 ? run_held_child : run_waiting_child);
}

void run::attach(cloned child)
{
    program_ = program::cloned;
    phase_ = phase::closes_in;
    cell_->attach(std::move(child));
}

void run::begin(const start_message& start, const std::vector<unique_fd>& descriptors)
{
    refusals_.begin();
    hand_over(program_ == program::held ? encode_held_start(start) : encode_begin(start, program_ != program::cloned),
              start, descriptors, {});
}

void run::hand_over(const std::string& message, const start_message& start, const std::vector<unique_fd>& descriptors,
                    std::vector<int> before)
{
    if (descriptors.size() < 2) throw step_failed("receive descriptors", EBADMSG);
    const int result = start.request.result_channel ? descriptors.back().get() : -1;
    cell_->give_pipes({descriptors[0].get(), descriptors[1].get(), result});
    std::vector<int> numbers = std::move(before);
    for (const auto& each : descriptors) numbers.push_back(each.get());
    if (!send_packet(cell_->control(), message, numbers)) throw step_failed("hand over the run", EAGAIN);
    begin_clock(start);
}

void run::begin_clock(const start_message& start)
{
    id_ = start.id;
    phase_ = phase::runs;
    evidence_.cpu_limit = cpu_seconds(start.request.limits);
    begun_ = std::chrono::steady_clock::now();
    deadline_ = begun_ + start.request.limits.wall;
    cell_->begin(start.request.limits);
}

bool run::hear()
{
    for (;;) {
        auto heard = receive_packet(control());
        if (!heard) return true;
        if (heard->bytes.empty()) {
            ended_ = true;
            return false;
        }
        wire_reader message(heard->bytes);
        hear(message.next<child_says>(), message, heard->descriptors);
    }
}

void run::hear(child_says says, wire_reader& message, std::vector<unique_fd>& descriptors)
{
    const bool one = descriptors.size() == 1;
    switch (says) {
        case child_says::ready:
            return cell_->hear_ready(descriptors);
        case child_says::inside:
            return cell_->hear_inside(message.next<int>(), one ? std::move(descriptors[0]) : unique_fd());
        case child_says::standby:  // of lasting cells
        case child_says::socket:
            return;
        case child_says::listen:
            if (one) refusals_ = refusal_listener(std::move(descriptors[0]));
            return;
        case child_says::waiting:
            if (phase_ == phase::closes_in) phase_ = phase::stands_by;
            if (own_control_) program_ = program::held;
            return;
        case child_says::executes:
            program_ = program::executed_when_told;
            return;
        case child_says::failed:
            return hear_failure(message);
        case child_says::ended:
            return hear_end(message);
    }
}

void run::hear_failure(wire_reader& message)
{
    const int error = message.next<int>();
    const auto step = message.next<std::string>();
    if (failure_.empty()) failure_ = explain_setup_failure(step, error);
}

void run::hear_end(wire_reader& message)
{
    int status = 0;
    std::chrono::microseconds time{};
    std::uint64_t peak_memory = 0;
    bool out_of_processes = false;
    message(status, time, peak_memory, out_of_processes, left_.hung_up, left_.others);
    evidence_.status = status;
    evidence_.cpu = std::max(evidence_.cpu, time);
    evidence_.out_of_processes |= out_of_processes;
    peak_memory_ = std::max(peak_memory_, peak_memory);
}

void run::hear_refusal()
{
    if (refusals_.answer()) kill(cause::denied_syscall);
}

void run::kill(cause why)
try {
    if (!own_control_) return cell_->kill(why);
    if (killed_for_ || ended_) return;
    killed_for_ = why;
    deadline_ = std::chrono::steady_clock::now() + patience_with_session;
    send_packet(own_control_.get(), "k");
} catch (const std::system_error&) {  // its cell ends already
}

void run::look(steady_time now)
{
    if (own_control_) return look_at_joined(now);
    if (cell_->killed_for()) {
        deadline_ = steady_time::max();
        return;
    }
    refusals_.look();
    if (now >= deadline_) return kill(cause::timeout);
    if (now >= cell_->next_event()) cell_->look(now);
}

void run::look_at_joined(steady_time now)
{
    next_look_ = now + between_answers;
    refusals_.look();
    if (now < deadline_) return;
    if (!killed_for_) return kill(cause::timeout);
    deadline_ = steady_time::max();
    cell_->give_up("the sandbox's processes were ended, because a run among them could not be ended alone.");
}

// In a lasting cell a program that was not executed ends like any other.
bool run::over() const
{
    if (own_control_) return ended_;
    return begun() && evidence_.status.has_value() && failure_.empty();
}

void run::lose_cell(const std::string& why)
{
    hear();
    ended_ = true;
    if (failure_.empty() && !evidence_.status) failure_ = why;
}

ended_message run::finish()
{
    const std::string complaint = cell_->finish([this] { return hear(); });
    if (failure_.empty() && !evidence_.status) failure_ = complaint;
    return report();
}

ended_message run::report()
{
    phase_ = phase::reported;
    deadline_ = next_look_ = steady_time::max();
    ended_message ended{id_, {}};
    auto& result = ended.result;
    result.wall = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun_);
    result.prepared = program_ == program::cloned;
    result.waited = program_ != program::executed;
    if (own_control_) result.cell = cell_->number();
    result.left = left_;
    judge_into(result);
    return ended;
}

void run::judge_into(run_result& result)
{
    const cell::figures_at_end figures = cell_->so_far();
    if (!own_control_) {
        evidence_.cpu = std::max(evidence_.cpu, figures.cpu);
        peak_memory_ = std::max(peak_memory_, figures.peak_memory);
    }
    result.cpu = evidence_.cpu;
    result.peak_memory = peak_memory_;
    result.error = failure_;
    if (!failure_.empty()) return;
    evidence_.killed_for = killed_for_ ? killed_for_ : cell_->killed_for();
    evidence_.out_of_memory = figures.out_of_memory;
    evidence_.out_of_processes |= cell_->refused_forks() > refused_forks_;
    judge(evidence_, result);
    result.denied = refusals_.take();
    result.detail = cell_->detail();
    if (!figures.refused.empty()) result.denied.push_back(figures.refused);
    if (evidence_.out_of_processes)
        result.denied.push_back("fork: the limit of " + std::to_string(processes_) + " processes was reached");
}

}  // namespace cmcp::sandbox
