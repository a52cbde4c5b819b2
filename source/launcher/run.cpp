#include "launcher/run.hpp"

#include "jail/held_program.hpp"
#include "jail/limits.hpp"
#include "jail/setup_step.hpp"
#include "jail/zygote_wire.hpp"
#include "wire/wire.hpp"

#include <algorithm>

namespace cmcp::sandbox {

run::run(const shared_parts& parts, const run_request& request, bool probe)
    : cell_(parts, request, probe), processes_(request.limits.processes)
{
}

void run::launch(const start_message& start, std::vector<unique_fd> descriptors)
{
    take_descriptors(cell_.plan(), start, descriptors);
    begin_clock(start);
    cell_.launch(run_child);
}

void run::launch_standby(int library)
{
    program_ = library >= 0 ? program::held : program::executed_when_told;
    phase_ = phase::closes_in;
    cell_.plan().held_library = library;
    cell_.launch(library >= 0 ? run_held_child : run_waiting_child);
}

void run::attach(cloned child)
{
    program_ = program::cloned;
    phase_ = phase::closes_in;
    cell_.attach(std::move(child));
}

void run::begin(const start_message& start, const std::vector<unique_fd>& descriptors)
{
    std::vector<int> numbers;
    for (const auto& each : descriptors) numbers.push_back(each.get());
    if (numbers.size() < 2) throw step_failed("receive descriptors", EBADMSG);
    cell_.give_pipes({numbers[0], numbers[1], start.request.result_channel ? numbers.back() : -1});
    const std::string message =
        program_ == program::held ? encode_held_start(start) : encode_begin(start, program_ != program::cloned);
    if (!send_packet(cell_.control(), message, numbers)) throw step_failed("hand over the run", EAGAIN);
    refusals_.begin();
    begin_clock(start);
}

void run::begin_clock(const start_message& start)
{
    id_ = start.id;
    phase_ = phase::runs;
    evidence_.cpu_limit = cpu_seconds(start.request.limits);
    begun_ = std::chrono::steady_clock::now();
    deadline_ = begun_ + start.request.limits.wall;
    cell_.begin();
}

bool run::hear()
{
    for (;;) {
        auto heard = receive_packet(cell_.control());
        if (!heard) return true;
        if (heard->bytes.empty()) return false;
        wire_reader message(heard->bytes);
        hear(message.next<child_says>(), message, heard->descriptors);
    }
}

void run::hear(child_says says, wire_reader& message, std::vector<unique_fd>& descriptors)
{
    const bool one = descriptors.size() == 1;
    switch (says) {
        case child_says::ready:
            return cell_.hear_ready(descriptors);
        case child_says::inside:
            return cell_.hear_inside(message.next<int>(), one ? std::move(descriptors[0]) : unique_fd());
        case child_says::listen:
            if (one) refusals_ = refusal_listener(std::move(descriptors[0]));
            return;
        case child_says::waiting:
            if (phase_ == phase::closes_in) phase_ = phase::stands_by;
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
    message(status, time, peak_memory, out_of_processes);
    evidence_.status = status;
    evidence_.cpu = std::max(evidence_.cpu, time);
    evidence_.out_of_processes |= out_of_processes;
    peak_memory_ = std::max(peak_memory_, peak_memory);
}

void run::hear_refusal()
{
    if (refusals_.answer()) kill(cause::denied_syscall);
}

void run::look(steady_time now)
{
    if (cell_.killed_for()) {
        deadline_ = steady_time::max();
        return;
    }
    refusals_.look();
    if (now >= deadline_) return kill(cause::timeout);
    if (now >= cell_.next_event()) cell_.look(now);
}

ended_message run::finish()
{
    const std::string complaint = cell_.finish([this] { return hear(); });
    if (failure_.empty() && !evidence_.status) failure_ = complaint;
    return report();
}

ended_message run::report()
{
    phase_ = phase::reported;
    deadline_ = steady_time::max();
    ended_message ended{id_, {}};
    auto& result = ended.result;
    result.wall = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun_);
    result.prepared = program_ == program::cloned;
    result.waited = program_ != program::executed;
    judge_into(result);
    return ended;
}

void run::judge_into(run_result& result)
{
    const cell::figures_at_end figures = cell_.so_far();
    result.cpu = evidence_.cpu = std::max(evidence_.cpu, figures.cpu);
    result.peak_memory = std::max(peak_memory_, figures.peak_memory);
    result.error = failure_;
    if (!failure_.empty()) return;
    evidence_.killed_for = cell_.killed_for();
    evidence_.out_of_memory = figures.out_of_memory;
    evidence_.out_of_processes |= figures.out_of_processes;
    judge(evidence_, result);
    result.denied = refusals_.take();
    result.detail = cell_.detail();
    if (figures.began_full)
        result.denied.push_back("writing to the workspace, which is full: only deleting works in it");
    if (evidence_.out_of_processes)
        result.denied.push_back("fork: the limit of " + std::to_string(processes_) + " processes was reached");
}

}  // namespace cmcp::sandbox
