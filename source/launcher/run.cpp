#include "launcher/run.hpp"

#include "jail/closing.hpp"
#include "jail/held_program.hpp"
#include "jail/limits.hpp"
#include "jail/setup_step.hpp"
#include "jail/zygote_wire.hpp"
#include "posix/child_process.hpp"
#include "wire/wire.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

// The life of a run; run_setup.cpp has how it comes about.
namespace cmcp::sandbox {
namespace {

constexpr std::chrono::milliseconds first_look{5};
constexpr std::chrono::milliseconds between_looks{50};  // at groups, whose limits the kernel itself keeps
constexpr std::chrono::seconds longest_silence{5};      // with a measurer that says nothing

}  // namespace

run::~run()
try {
    if (!child_.pidfd) return;
    kill(cause::cancelled);
    finish();
} catch (const std::exception&) {  // its processes have ended; only the figures are lost
}

bool run::fits(const run_request& request) const
try {
    if (parts_.views->find(request).place != view_) return false;
    if (request.workspace.empty()) return true;
    return folder_ == workspace_ledger::key_of(parts_.root.open(request.workspace, O_PATH).get()) &&
           workspace_.as_full_as_before();
} catch (const step_failed&) {
    return false;  // the workspace is not there any more
}

void run::begin(const start_message& start, const std::vector<unique_fd>& descriptors)
{
    std::vector<int> numbers;
    for (const auto& each : descriptors) numbers.push_back(each.get());
    if (numbers.size() < 2) throw step_failed("receive descriptors", EBADMSG);
    give_pipes({numbers[0], numbers[1], start.request.result_channel ? numbers.back() : -1});
    const std::string message =
        program_ == program::held ? encode_held_start(start) : encode_begin(start, program_ != program::cloned);
    if (!send_packet(control_.get(), message, numbers)) throw step_failed("hand over the run", EAGAIN);
    id_ = start.id;
    limits_ = start.request.limits;
    refusals_.begin();
    workspace_.begin();
    begin_clock();
}

void run::begin_clock()
{
    phase_ = phase::runs;
    evidence_.cpu_limit = cpu_seconds(limits_);
    begun_ = measured_ = std::chrono::steady_clock::now();
    deadline_ = begun_ + limits_.wall;
    next_look_ = begun_ + (cgroup_.holds("memory") ? between_looks : first_look);
}

// Firejail's own end comes before that of the namespaces. A process that it has not let go yet only has the control
// socket.
void run::wait_for_firejail()
{
    const unique_fd& first = firejail_->first;
    pollfd over{first ? first.get() : control_.get(), POLLIN, 0};
    constexpr int patience_ms = 10'000;
    while (!first && hear() && ::poll(&over, 1, patience_ms) > 0) over.fd = first ? first.get() : control_.get();
    if (first) ::poll(&over, 1, patience_ms);
    if (!failure_.empty() || evidence_.status || evidence_.killed_for || first) return;
    failure_ = explain_setup_failure(firejail_complaint(firejail_->messages.get()), 0);
}

void run::hear_inside(wire_reader& message, std::vector<unique_fd>& descriptors)
{
    if (!firejail_) return;
    message(firejail_->helper);
    if (descriptors.size() == 1) firejail_->first = std::move(descriptors[0]);
}

bool run::hear()
{
    for (;;) {
        auto heard = receive_packet(control_.get());
        if (!heard) return true;
        if (heard->bytes.empty()) return false;
        wire_reader message(heard->bytes);
        auto& fds = heard->descriptors;
        const auto says = message.next<child_says>();
        if (says == child_says::ended) hear_end(message);
        if (says == child_says::failed && failure_.empty()) {
            const int error = message.next<int>();
            failure_ = explain_setup_failure(message.next<std::string>(), error);
        }
        if (says == child_says::waiting && phase_ == phase::closes_in) phase_ = phase::stands_by;
        if (says == child_says::executes) program_ = program::executed_when_told;
        if (says == child_says::inside) hear_inside(message, fds);
        if (says == child_says::listen && fds.size() == 1) refusals_ = refusal_listener(std::move(fds[0]));
        if (says != child_says::ready) continue;
        if (probe_) probed_ = cgroup_.look_at(child_.pid, limits_);
        if (fds.size() < 3) continue;
        meter_ = usage_meter(usage_sources::from(fds), firejail_ ? firejail_->helper : 0);
    }
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

void run::kill(cause why)
{
    if (!evidence_.killed_for) {
        evidence_.killed_for = why;
        // The kernel drops the times of processes that end with the first process.
        evidence_.cpu = std::max(evidence_.cpu, meter_.processor_time());
    }
    kill_process(child_.pidfd.get());
    cgroup_.kill_all();
}

bool run::needs_measurer() const { return meter_ && (!cgroup_.holds("memory") || workspace_.counts()); }

// Where no process can be made for it now, the next look tries again.
void run::start_measurer()
try {
    measuring what;
    if (!cgroup_.holds("memory")) what.memory_limit = limits_.memory;
    if (workspace_.counts()) what.written_limit = workspace_bounds(limits_).bytes;
    what.disk = workspace_.disk();
    const auto settle_it = [this] {
        cgroup_.take_beside(0);
        lower_priority(0);
    };
    measurer_ = std::make_unique<measurer>(meter_, what, parts_.measurers, settle_it, cgroup_.caller());
} catch (const step_failed&) {
    measurer_.reset();
}

void run::hear_figures()
{
    const auto figures = measurer_->take();
    if (!figures) return;
    latest_ = *figures;
    measured_ = std::chrono::steady_clock::now();
    if (!cgroup_.holds("memory")) judge_usage(latest_.used);
}

void run::judge_usage(const usage& used)
{
    peak_memory_ = std::max(peak_memory_, used.memory);
    evidence_.out_of_processes |= used.processes >= limits_.processes;
    if (used.memory > limits_.memory) return kill(cause::memory_limit);
    if (used.processes > limits_.processes) kill(cause::process_limit);
}

// In v1 the kernel ends one process for want of memory, and the others would go on without it.
void run::look_at_groups()
{
    if (cgroup_.out_of_memory() || cgroup_.memory() > limits_.memory) return kill(cause::memory_limit);
    evidence_.out_of_processes |= cgroup_.at_process_limit();
}

void run::measure(steady_time now)
{
    next_look_ = now + between_looks;
    if (cgroup_.holds("memory")) look_at_groups();
    if (evidence_.killed_for) return;
    if (needs_measurer() && (!measurer_ || measurer_->over())) start_measurer();
    detail_ = workspace_.look(limits_, begun_, latest_);
    if (!detail_.empty()) return kill(cause::file_size_limit);
    if (!meter_ || cgroup_.holds("memory") || now < measured_ + longest_silence) return;
    detail_ = "its memory could not be measured in time: its processes map too many places, or none can be made here.";
    kill(cause::memory_limit);
}

void run::look(steady_time now)
{
    if (evidence_.killed_for) {
        deadline_ = next_look_ = steady_time::max();
        return;
    }
    refusals_.look();
    if (now >= deadline_) return kill(cause::timeout);
    if (now >= next_look_) measure(now);
}

ended_message run::finish()
{
    siginfo_t info{};
    rusage used{};
    const auto pidfd = child_.pidfd.get();
    while (::syscall(SYS_waitid, P_PIDFD, pidfd, &info, WEXITED, &used) != 0 && errno == EINTR) {
    }
    if (firejail_) wait_for_firejail();
    hear();
    child_.pidfd.reset();
    workspace_.note_end(limits_);
    if (firejail_) return report();  // the rest is Firejail's own use
    evidence_.cpu = std::max(evidence_.cpu, processor_time(used));
    peak_memory_ = std::max(peak_memory_, static_cast<std::uint64_t>(used.ru_maxrss) * 1024);
    return report();
}

ended_message run::report()
{
    phase_ = phase::reported;
    deadline_ = next_look_ = steady_time::max();
    ended_message ended{id_, {}};
    auto& result = ended.result;
    result.wall = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun_);
    result.cpu = evidence_.cpu;
    result.prepared = program_ == program::cloned;
    result.waited = program_ != program::executed;
    result.peak_memory = std::max(peak_memory_, cgroup_.peak_memory());
    evidence_.out_of_memory = cgroup_.out_of_memory();
    evidence_.out_of_processes |= cgroup_.out_of_processes();
    if (!failure_.empty()) {
        result.error = failure_;
        return ended;
    }
    judge(evidence_, result);
    result.denied = refusals_.take();
    result.detail = detail_;
    if (workspace_.began_full())
        result.denied.push_back("writing to the workspace, which is full: only deleting works in it");
    if (evidence_.out_of_processes)
        result.denied.push_back("fork: the limit of " + std::to_string(limits_.processes) + " processes was reached");
    return ended;
}

}  // namespace cmcp::sandbox
