#include "launcher/run.hpp"

#include "jail/closing.hpp"
#include "jail/held_program.hpp"
#include "jail/jail.hpp"
#include "jail/limits.hpp"
#include "jail/setup_step.hpp"
#include "jail/zygote_wire.hpp"
#include "wire/wire.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace cmcp::sandbox {
namespace {

constexpr std::chrono::milliseconds first_look{5};

std::chrono::microseconds total_time(const rusage& used)
{
    const auto in_us = [](const timeval& t) {
        return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
    };
    return in_us(used.ru_utime) + in_us(used.ru_stime);
}

}  // namespace

std::vector<int> run::clone_descriptors() const
{
    std::vector<int> descriptors{plan_->control.get()};
    if (cgroup_.folder() >= 0) descriptors.push_back(cgroup_.folder());
    return descriptors;
}

void run::attach(cloned child)
{
    child_ = std::move(child);
    prepared_ = true;
    const auto plan = std::move(plan_);
    if (!send_packet(control_.get(), encode_plan(*plan), plan_descriptors(*plan)))
        throw step_failed("hand over the plan", EAGAIN);
    if (ids_.privileged()) write_id_maps(std::to_string(child_.pid), inside_ids, plan->outside, false);
    send_packet(control_.get(), "g");
    outside_ = plan->outside;
}

bool run::fits(const run_request& request) const
{
    if (views_ != nullptr && views_->find(request).place != view_) return false;
    if (request.workspace.empty()) return true;
    struct stat now {};
    if (::stat(request.workspace.c_str(), &now) != 0 || place_ != std::pair(now.st_dev, now.st_ino)) return false;
    return workspace_.as_full_as_before();
}

void run::begin(const start_message& start, const std::vector<unique_fd>& descriptors)
{
    std::vector<int> numbers;
    for (const auto& each : descriptors) numbers.push_back(each.get());
    if (numbers.size() < 2) throw step_failed("receive descriptors", EBADMSG);
    give_pipes({numbers[0], numbers[1], start.request.result_channel ? numbers.back() : -1}, outside_);
    const std::string told = held_ ? encode_held_start(start) : encode_begin(start, !prepared_);
    if (!send_packet(control_.get(), told, numbers)) throw step_failed("hand over the run", EAGAIN);
    id_ = start.id;
    waits_ = false;
    waited_ = true;
    limits_ = start.request.limits;
    refusals_.begin();
    workspace_.begin();
    begin_clock();
}

void run::begin_clock()
{
    has_begun_ = true;
    found_.cpu_limit = cpu_seconds(limits_);
    begun_ = std::chrono::steady_clock::now();
    deadline_ = begun_ + limits_.wall;
    next_look_ = begun_ + first_look;
}

// Firejail's own end comes before that of the namespaces; and what it had not let go yet only has the control socket.
void run::wait_for_firejail()
{
    pollfd over{first_ ? first_.get() : control_.get(), POLLIN, 0};
    constexpr int patience_ms = 10'000;
    while (!first_ && hear() && ::poll(&over, 1, patience_ms) > 0) over.fd = first_ ? first_.get() : control_.get();
    if (first_) ::poll(&over, 1, patience_ms);
    if (failed_ || found_.status || found_.killed_for || first_) return;
    failed_ = true;
    failure_ = explain_setup_failure(firejail_complaint(messages_.get()), 0);
}

void run::hear_inside(wire_reader& message, std::vector<unique_fd>& descriptors)
{
    helper_ = message.number<std::int32_t>();
    if (descriptors.size() == 1) first_ = std::move(descriptors[0]);
}

run::~run()
{
    if (plan_) ids_.release(number_);  // never cloned
    if (!child_.pidfd) return;
    kill(cause::cancelled);
    finish();
}

bool run::hear()
{
    for (;;) {
        auto heard = receive_packet(control_.get());
        if (!heard) return true;
        if (heard->bytes.empty()) return false;
        wire_reader message(heard->bytes);
        const auto says = static_cast<child_says>(message.number<char>());
        if (says == child_says::ended) hear_end(message);
        if (says == child_says::failed && !failed_) {
            failed_ = true;
            const int error = message.number<std::int32_t>();
            failure_ = explain_setup_failure(message.text(), error);
        }
        waits_ |= says == child_says::waiting;
        if (says == child_says::executes) prepared_ = false;
        auto& fds = heard->descriptors;
        if (says == child_says::inside) hear_inside(message, fds);
        if (says == child_says::listen && fds.size() == 1) refusals_.listen(std::move(fds[0]));
        if (says != child_says::ready || fds.size() < 3) continue;
        fds.resize(4);
        meter_ = usage_meter(std::move(fds[0]), std::move(fds[1]), std::move(fds[2]), std::move(fds[3]), helper_);
    }
}

void run::hear_end(wire_reader& message)
{
    found_.status = message.number<std::int32_t>();
    const auto in_user_mode = message.number<std::int64_t>();
    cpu_ = std::chrono::microseconds(in_user_mode + message.number<std::int64_t>());
    peak_memory_ = std::max(peak_memory_, message.number<std::uint64_t>());
    reached_process_limit_ |= message.number<bool>();
}

void run::hear_refusal()
{
    if (refusals_.hear()) kill(cause::denied_syscall);
}

void run::kill(cause why)
{
    if (!found_.killed_for) {
        found_.killed_for = why;
        found_.cpu = meter_.processor_time();  // the kernel drops the times of what ends with its first process
    }
    ::syscall(SYS_pidfd_send_signal, child_.pidfd.get(), SIGKILL, nullptr, 0);
    cgroup_.kill_all();
}

void run::measure(steady_time now)
{
    const usage used = meter_.measure(limits_.memory);
    peak_memory_ = std::max(peak_memory_, used.memory);
    reached_process_limit_ |= used.processes >= limits_.processes;
    if (used.memory > limits_.memory) return kill(cause::memory_limit);
    if (used.processes > limits_.processes) return kill(cause::process_limit);
    detail_ = workspace_.look(limits_, begun_, meter_);
    if (!detail_.empty()) return kill(cause::file_size_limit);
    next_look_ = now + next_look(used.memory, limits_.memory);
}

void run::look(steady_time now)
{
    if (found_.killed_for) {
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
    if (messages_) wait_for_firejail();
    hear();
    child_.pidfd.reset();
    ids_.release(number_);
    workspace_.note_end(limits_);
    if (messages_) return report();  // the rest is Firejail's own use
    cpu_ = total_time(used);
    peak_memory_ = std::max(peak_memory_, static_cast<std::uint64_t>(used.ru_maxrss) * 1024);
    return report();
}

ended_message run::report()
{
    reported_ = true;
    deadline_ = next_look_ = steady_time::max();
    ended_message ended{id_, {}};
    auto& result = ended.result;
    result.wall = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun_);
    result.cpu = found_.cpu = std::max(found_.cpu, cpu_);
    result.prepared = prepared_;
    result.waited = waited_;
    result.peak_memory = std::max(peak_memory_, cgroup_.peak_memory());
    found_.out_of_memory = cgroup_.out_of_memory();
    found_.out_of_processes = reached_process_limit_ || cgroup_.out_of_processes();
    if (failed_) {
        result.error = failure_;
        return ended;
    }
    judge(found_, result);
    result.denied = refusals_.take();
    result.detail = detail_;
    if (workspace_.began_full())
        result.denied.push_back("writing to the workspace, which is full: only deleting works in it");
    if (found_.out_of_processes)
        result.denied.push_back("fork: the limit of " + std::to_string(limits_.processes) + " processes was reached");
    return ended;
}

}  // namespace cmcp::sandbox
