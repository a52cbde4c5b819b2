#include "launcher/cell.hpp"

#include "cell/cell_orders.hpp"
#include "cell/local_sockets.hpp"
#include "facilities/setup_step.hpp"
#include "jail/closing.hpp"
#include "posix/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

// The life of a cell; cell_setup.cpp has how it comes about.
namespace cmcp::sandbox {
namespace {

constexpr std::chrono::milliseconds first_look{5};
constexpr std::chrono::milliseconds between_looks{50};              // at groups, whose limits the kernel itself keeps
constexpr std::chrono::milliseconds between_looks_at_browser{500};  // which its measurer looks after
constexpr std::chrono::seconds longest_silence{5};                  // with a measurer that says nothing

std::string memory_sentence(std::uint64_t limit)
{
    return "all programs of the sandbox together needed more memory than their limit of " +
           std::to_string(limit >> 20) +
           " MiB (SANDBOX_MEMORY_LIMIT and SANDBOX_KERNEL_MEMORY), so all were ended, those in the background and a "
           "kernel, "
           "too. Work on less data at a time.";
}

}  // namespace

cell::~cell()
try {
    if (!child_.pidfd) return;
    kill(cause::cancelled);
    finish([] { return false; });
} catch (const std::exception&) {  // its processes have ended; only the figures are lost
}

bool cell::has_view_of(const run_request& request) const
try {
    return parts_.views->find(request).mount_point == view_;
} catch (const step_failed&) {
    return false;  // a program of it is not there any more
}

bool cell::has_workspace_of(const run_request& request) const
try {
    if (request.workspace.empty()) return folder_ == workspace_ledger::key();
    return folder_ == workspace_ledger::key_of(parts_.root.open(request.workspace, O_PATH).get());
} catch (const step_failed&) {
    return false;  // the workspace is not there any more
}

// A cell of a shape has the runs of one caller that would have cells of their own elsewhere, so each may need what it
// might there. What it has been given it keeps until it rests: a measurer begins anew with each limit.
void cell::begin(const run_limits& limits)
{
    ++runs_;
    auto memory = limits_.memory;
    while (widens_ && memory < runs_ * limits_.process_memory) memory *= 2;
    limit_memory(memory);
    limits_.workspace_size = limits.workspace_size;
    limits_.workspace_files = limits.workspace_files;
    workspace_.bound(limits_);
    if (next_tick_ != steady_time::max() || killed_for_) return;
    workspace_.begin();
    begun_ = measured_ = std::chrono::steady_clock::now();
    next_tick_ = begun_ + (cgroup_.holds("memory") ? between_looks : first_look);
    if (browses_) next_tick_ = begun_;  // starts its measurer
}

void cell::note_run()
{
    --runs_;
    workspace_.note_run(limits_);
}

void cell::limit_memory(std::uint64_t bytes)
{
    if (bytes == limits_.memory) return;
    limits_.memory = bytes;
    cgroup_.bound_memory(bytes);
    measures_anew_ = true;
}

// Kernels, shells and long jobs may make room and use it later, so for them the counts alone decide.
void cell::bound_files(run_limits& limits) const
{
    constexpr std::chrono::hours soon_over{1};
    if (limits.wall > soon_over) return;
    limits.file_size = std::min(limits.file_size, workspace_.largest_file(limits));
}

std::string cell::explain_file_size(const run_limits& limits) const
{
    if (limits.file_size >= limits_.file_size) return {};
    return "it wrote a file larger than the " + std::to_string(limits.file_size >> 20) +
           " MiB that are left of the working folder's limit of " + std::to_string(limits.workspace_size >> 20) +
           " MiB (SANDBOX_WORKSPACE_MAX_MB, SANDBOX_DISK_QUOTA). Delete what is not needed any more.";
}

void cell::rest()
{
    next_tick_ = steady_time::max();
    measurer_.reset();
    limit_memory(narrowest_memory_);
}

void cell::hear_inside(int helper, unique_fd first)
{
    if (!firejail_) return;
    firejail_->helper = helper;
    if (first) firejail_->first = std::move(first);
}

void cell::hear_ready(std::span<unique_fd> descriptors)
{
    if (probe_) probed_ = cgroup_.look_at(child_.pid, limits_);
    if (descriptors.size() < 3) return;
    meter_ = usage_meter(usage_sources::from(descriptors), firejail_ ? firejail_->helper : 0);
}

void cell::kill(cause why)
{
    next_tick_ = steady_time::max();
    if (!killed_for_) {
        killed_for_ = why;
        if (lasts_ && why == cause::memory_limit && detail_.empty()) detail_ = memory_sentence(limits_.memory);
        // The kernel drops the times of processes that end with the first process. Nobody asks a browser's, and it may
        // have thousands of processes.
        if (!browses_) cpu_ = std::max(cpu_, meter_.processor_time());
    }
    kill_process(child_.pidfd.get());
    cgroup_.kill_all();
}

void cell::kill_program(std::uint32_t number) { give_order(encode_kill_order(number)); }

void cell::hold(bool on) { give_order(encode_hold_order(on)); }

void cell::give_order(std::string order)
{
    if (std::ranges::find(orders_, order) == orders_.end()) orders_.push_back(std::move(order));
    send_orders();
}

void cell::send_orders()
try {
    while (!orders_.empty() && send_packet(control_.get(), orders_.front())) orders_.pop_front();
} catch (const std::system_error&) {  // the cell ends already
    orders_.clear();
}

bool cell::has_room() const
{
    pollfd room{control_.get(), POLLOUT, 0};
    return orders_.empty() && ::poll(&room, 1, 0) == 1;
}

// A first process that is busy keeps only its own programs waiting, and not many.
void cell::carry_out(std::uint32_t program, const local_call& call) const
try {
    if (!send_packet(control_.get(), encode_local_order(program, call), descriptors_of(call)))
        answer_call(call.listener.get(), call.id, EAGAIN);
} catch (const std::system_error&) {  // the cell ends already
}

void cell::give_up(std::string why)
{
    if (!killed_for_) detail_ = std::move(why);
    kill(cause::signalled);
}

bool cell::needs_measurer() const
{
    if (!meter_ || browses_ || !cgroup_.holds("memory")) return static_cast<bool>(meter_);
    return workspace_.counts() && workspace_.may_have_grown(begun_);
}

// Where no process can be made for it now, the next look tries again.
void cell::start_measurer()
try {
    measuring what;
    if (browses_ || !cgroup_.holds("memory")) what.memory_limit = limits_.memory;
    what.ends_largest = browses_;
    if (workspace_.counts()) what.written_limit = workspace_bounds(limits_).bytes;
    what.disk = workspace_.disk();
    const auto settle_it = [this] {
        cgroup_.take_beside(0);
        lower_priority(0);
    };
    measurer_ = std::make_unique<measurer>(meter_, what, parts_.measurers, settle_it, cgroup_.caller());
    measures_anew_ = false;
} catch (const step_failed&) {
    measurer_.reset();
}

void cell::hear_figures()
{
    if (!measurer_) return;  // it rests since the last look for events
    const auto figures = measurer_->take();
    if (!figures) return;
    ended_largest_ = ended_largest_ || figures->times_ended > latest_.times_ended;
    latest_ = *figures;
    measured_ = std::chrono::steady_clock::now();
    if (!cgroup_.holds("memory")) judge_usage(latest_.used);
}

void cell::judge_usage(const usage& used)
{
    peak_memory_ = std::max(peak_memory_, used.memory);
    const std::uint64_t most = limits_.processes + beside_limit_;
    if (used.processes >= most) ++refused_forks_;
    if (used.memory > limits_.memory && !browses_) return kill(cause::memory_limit);
    if (used.processes > most) kill(cause::process_limit);
}

// In v1 the kernel ends one process for want of memory, and the others would go on without it.
void cell::look_at_groups()
{
    if (browses_) {  // its measurer ends processes; where they grow too fast for that, the kernel does
        if (cgroup_.out_of_memory() && !std::exchange(kernel_ended_, true)) ended_largest_ = true;
        return;
    }
    if (cgroup_.out_of_memory() || cgroup_.memory() > limits_.memory) return kill(cause::memory_limit);
    if (cgroup_.at_process_limit()) ++refused_forks_;
}

void cell::tick(steady_time now)
{
    next_tick_ = now + (browses_ ? between_looks_at_browser : between_looks);
    if (cgroup_.holds("memory")) look_at_groups();
    if (killed_for_) return;
    if (needs_measurer() && (!measurer_ || measurer_->over() || measures_anew_)) start_measurer();
    detail_ = workspace_.measure(limits_, begun_, latest_);
    if (!detail_.empty()) return kill(cause::file_size_limit);
    if (!meter_ || cgroup_.holds("memory") || now < measured_ + longest_silence) return;
    detail_ =
        "its memory could not be measured in time: its processes have too many mappings, or no process can be made "
        "here.";
    kill(cause::memory_limit);
}

void cell::end_if_full()
{
    if (killed_for_) return;
    detail_ = workspace_.became_full(limits_);
    if (!detail_.empty()) kill(cause::file_size_limit);
}

// Firejail's own end comes before that of the namespaces. A process that it has not let go yet only has the control
// socket.
std::string cell::wait_for_firejail(const std::function<bool()>& hear)
{
    const unique_fd& first = firejail_->first;
    pollfd over{first ? first.get() : control_.get(), POLLIN, 0};
    constexpr int patience_ms = 10'000;
    while (!first && hear() && ::poll(&over, 1, patience_ms) > 0) over.fd = first ? first.get() : control_.get();
    if (first) ::poll(&over, 1, patience_ms);
    if (killed_for_ || first) return {};
    return explain_setup_failure(firejail_complaint(firejail_->messages.get()), 0);
}

std::string cell::finish(const std::function<bool()>& hear)
{
    next_tick_ = steady_time::max();
    siginfo_t info{};
    rusage used{};
    const auto pidfd = child_.pidfd.get();
    while (::syscall(SYS_waitid, P_PIDFD, pidfd, &info, WEXITED, &used) != 0 && errno == EINTR) {
    }
    std::string complaint = firejail_ ? wait_for_firejail(hear) : std::string();
    hear();
    child_.pidfd.reset();
    workspace_.note_end(limits_);
    if (firejail_) return complaint;  // the rest is Firejail's own use
    cpu_ = std::max(cpu_, processor_time(used));
    peak_memory_ = std::max(peak_memory_, static_cast<std::uint64_t>(used.ru_maxrss) * 1024);
    return {};
}

cell::figures_at_end cell::current_figures() const
{
    return {cpu_, std::max(peak_memory_, cgroup_.peak_memory()), !browses_ && cgroup_.out_of_memory(),
            workspace_.refusal(limits_)};
}

std::uint64_t cell::memory() const
{
    return cgroup_.holds("memory") ? cgroup_.memory_without_cache() : latest_.used.memory;
}

}  // namespace cmcp::sandbox
