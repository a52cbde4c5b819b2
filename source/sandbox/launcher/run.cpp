#include "run.hpp"

#include "closing.hpp"
#include "fault.hpp"
#include "inside.hpp"
#include "jail.hpp"
#include "sandbox/apparmor.hpp"
#include "sandbox/limits.hpp"
#include "sandbox/mounts.hpp"
#include "sandbox/setup_step.hpp"
#include "sandbox/wire.hpp"
#include "zygote_wire.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace cmcp::sandbox {
namespace {

constexpr std::chrono::milliseconds first_look{5};
constexpr int refusals_each_look = 500;      // a run that tries without end slows down itself, not the others
constexpr std::size_t most_denied = 16;
constexpr std::uint64_t uncounted_share = 8 << 20;     // what a run may write before its workspace is counted
constexpr std::chrono::milliseconds pause_between_searches{100};

id_pair owner_of(int tree, std::pair<dev_t, ino_t>& place)
{
    struct stat status{};
    check(::fstat(tree, &status), "open workspace");
    if (!S_ISDIR(status.st_mode)) throw step_failed("open workspace", ENOTDIR);
    place = {status.st_dev, status.st_ino};
    return {status.st_uid, status.st_gid};
}

std::chrono::microseconds total_time(const rusage& used)
{
    const auto in_us = [](const timeval& t) { return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec); };
    return in_us(used.ru_utime) + in_us(used.ru_stime);
}

std::uint64_t namespaces_of_a_run(bool with_time)
{
    constexpr std::pair<const char*, std::uint64_t> kinds[] = {
        {"user_namespace", CLONE_NEWUSER}, {"pid_namespace", CLONE_NEWPID},       {"mount_namespace", CLONE_NEWNS},
        {"ipc_namespace", CLONE_NEWIPC},   {"network_namespace", CLONE_NEWNET},   {"uts_namespace", CLONE_NEWUTS},
        {"time_namespace", 0x80},          {"cgroup_namespace", CLONE_NEWCGROUP}};
    std::uint64_t all = all_namespaces(with_time);
    for (const auto& [name, flag] : kinds)
        if (left_out(name)) all &= ~flag;
    return all;
}

/// A number from `ids` that goes back when the run could not be made.
struct number_guard {
    identities& ids;
    unsigned number;
    bool kept = false;
    ~number_guard()
    {
        if (!kept) ids.release(number);
    }
};

}  // namespace

run::run(workshop& shop, start_message start, std::vector<unique_fd> descriptors)
    : ids_(shop.ids), workspaces_(shop.workspaces), id_(start.id), number_(shop.ids.take()), limits_(start.request.limits)
{
    number_guard guard{ids_, number_};
    jail_plan plan;
    take_descriptors(plan, start, descriptors);
    plan.request = std::move(start.request);
    plan.probe = start.probe;
    if (plan.request.argv.empty()) throw step_failed("read the request: no program", EINVAL);
    prepare(shop, plan);
    cgroup_ = shop.cgroups.make(id_, limits_);
    begin_clock();
    if (shop.jailer != nullptr) {
        launch_firejail(shop, plan);
    } else {
        std::tie(control_, plan.control) = packet_socket_pair();
        launch(shop, plan, run_child);
    }
    guard.kept = true;
}

run::run(workshop& shop, std::uint64_t key, const run_request& shape, bool probe)
    : ids_(shop.ids), workspaces_(shop.workspaces), id_(key), number_(shop.ids.take()), limits_(shape.limits),
      deadline_(steady_time::max()), next_look_(steady_time::max()), plan_(std::make_unique<jail_plan>())
{
    number_guard guard{ids_, number_};
    plan_->request = shape;
    plan_->probe = probe;
    prepare(shop, *plan_);
    cgroup_ = shop.cgroups.make(id_, limits_);
    std::tie(control_, plan_->control) = packet_socket_pair();
    guard.kept = true;
}

void run::prepare(workshop& shop, jail_plan& plan)
{
    plan.filters = shop.filters.choose(plan.request.programs);
    plan.announcing = shop.filters.announcing(plan.request.programs);
    if (shop.with_apparmor) plan.apparmor = apparmor_profile_for(plan.request.argv.at(0));
    plan.outside = ids_.outside(number_);
    plan.maps_itself = !ids_.privileged();
    prepare_view(shop, plan);
    open_workspace(plan);
    prepare_workspace(shop, plan);
    if (ids_.privileged() && plan.outside.user == 0) throw step_failed("workspace owner", EPERM);
}

void run::prepare_view(workshop& shop, jail_plan& plan)
{
    if (shop.jailer != nullptr) {
        shop.jailer->move_workspace(plan.request);
        firejail_view seen = shop.jailer->view(plan.request);
        profile_ = std::move(seen.profile);
        plan.rules = std::move(seen.rules);
        plan.writable_may_execute = plan.request.programs.all;
        return;
    }
    const view& seen = shop.views->find(plan.request);
    plan.rules = seen.rules;
    plan.writable_may_execute = seen.writable_may_execute;
    plan.root = copy_mount_tree(seen.root.get(), "", "clone the root");
}

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
    if (!send_packet(control_.get(), encode_plan(*plan), plan_descriptors(*plan))) throw step_failed("hand over the plan", EAGAIN);
    if (ids_.privileged()) write_id_maps(std::to_string(child_.pid), inside_ids, plan->outside, false);
    send_packet(control_.get(), "g");
    outside_ = plan->outside;
}

void run::launch_waiting(workshop& shop)
{
    launch(shop, *plan_, run_waiting_child);
    outside_ = plan_->outside;
    plan_.reset();
}

bool run::fits(const run_request& request) const
{
    if (request.workspace.empty()) return true;
    struct stat now{};
    if (::stat(request.workspace.c_str(), &now) != 0 || place_ != std::pair(now.st_dev, now.st_ino)) return false;
    return !workspace_ || began_full_ == (workspaces_.last_finding(workspace_key_) != workspace_ledger::finding::fits);
}

void run::begin(const start_message& start, const std::vector<unique_fd>& descriptors)
{
    std::vector<int> numbers;
    for (const auto& each : descriptors) numbers.push_back(each.get());
    if (numbers.size() < 2) throw step_failed("receive descriptors", EBADMSG);
    give_pipes({numbers[0], numbers[1], start.request.result_channel ? numbers.back() : -1}, outside_);
    if (!send_packet(control_.get(), encode_begin(start, !prepared_), numbers)) throw step_failed("hand over the run", EAGAIN);
    id_ = start.id;
    waits_ = false;
    waited_ = true;
    limits_ = start.request.limits;
    denied_.clear();   // what the interpreter tried before
    if (workspace_) room_at_start_ = workspace_ledger::free_room(workspace_.get());
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

// A pipe belongs to who made it: /dev/stdout would not open for another user.
void run::give_pipes(std::initializer_list<int> pipes, id_pair outside) const
{
    for (const int pipe : pipes)
        if (ids_.privileged() && pipe >= 0 && ::fchown(pipe, outside.user, outside.group) != 0)
            throw step_failed("give the pipes to the run");
}

// A run in a full workspace is not ended for what others left there; it may only make room.
void run::open_workspace(jail_plan& plan)
{
    workspace_ = open_bounded_workspace(plan.request);
    if (!workspace_) return;
    workspace_key_ = workspace_ledger::key_of(workspace_.get());
    room_at_start_ = workspace_ledger::free_room(workspace_.get());
    began_full_ = workspaces_.last_finding(workspace_key_) != workspace_ledger::finding::fits;
    if (!began_full_) return;
    if (landlock_abi() == 0) throw step_failed("workspace is full", EDQUOT);
    const std::string place = plan.request.workspace_inside + "/";   // under Firejail it may be in /tmp
    std::erase_if(plan.rules.read_write, [&](const std::string& path) { return place.starts_with(path + "/"); });
    plan.rules.read_remove.push_back(plan.request.workspace_inside);
}

void run::prepare_workspace(workshop& shop, jail_plan& plan)
{
    if (plan.request.workspace.empty() || (shop.jailer != nullptr && !ids_.privileged())) return;
    plan.workspace = copy_mount_tree(AT_FDCWD, plan.request.workspace, "open workspace " + plan.request.workspace);
    const std::uint64_t no_exec = plan.writable_may_execute ? 0 : MOUNT_ATTR_NOEXEC;
    set_mount_attributes(plan.workspace.get(), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | no_exec, true, "protect the workspace");
    const id_pair owner = owner_of(plan.workspace.get(), place_);
    if (!shop.ids.privileged()) return;
    if (shop.ids.own_range() && map_mount_ids(plan.workspace.get(), shop.ids.mapping(owner, number_))) return;
    // No id-mapped mounts here: the run acts as the workspace's owner, but never as root.
    if (owner.user == 0 || owner.group == 0) throw step_failed("workspace owner", errno);
    plan.outside = owner;
}

void run::launch(workshop& shop, jail_plan& plan, void (*live)(jail_plan&))
{
    give_pipes({plan.output.get(), plan.error.get(), plan.result.get()}, plan.outside);
    child_ = clone_into_namespaces(namespaces_of_a_run(shop.with_time_namespace), cgroup_.folder());
    if (child_.pid == 0) live(plan);
    try {
        if (shop.ids.privileged()) write_id_maps(std::to_string(child_.pid), inside_ids, plan.outside, false);
        send_packet(control_.get(), "g");
    } catch (...) {
        kill(cause::setup_failed);
        finish();
        throw;
    }
}

void run::launch_firejail(workshop& shop, jail_plan& plan)
{
    auto [ours, theirs] = packet_socket_pair();
    plan.control = std::move(theirs);
    messages_.reset(check(::memfd_create("firejail", MFD_CLOEXEC), "prepare Firejail"));
    give_pipes({plan.output.get(), plan.error.get(), plan.result.get()}, plan.outside);
    send_inside_plan(ours.get(), plan, shop.jailer->namespaces_outside());
    child_ = clone_into_namespaces(ids_.privileged() ? CLONE_NEWNS : 0, cgroup_.folder());
    if (child_.pid == 0) {
        try {
            shop.jailer->become(plan, profile_, messages_.get());
        } catch (const step_failed& failure) {
            report_failure(plan.control.get(), failure.what(), failure.error);
        }
    }
    control_ = std::move(ours);
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
    if (plan_) ids_.release(number_);   // never cloned
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
        auto& fds = heard->descriptors;
        if (says == child_says::inside) hear_inside(message, fds);
        if (says == child_says::listen && fds.size() == 1) listen(std::move(fds[0]));
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

void run::listen(unique_fd listener)
{
    refusals_ = refusal_listener(std::move(listener));
    refusals_budget_ = refusals_each_look;
}

void run::hear_refusal()
{
    bool over = false;
    const auto heard = refusals_.answer(over);
    if (over) refusals_ = {};
    if (!heard) return;
    --refusals_budget_;
    const bool known = heard->what.empty() || std::find(denied_.begin(), denied_.end(), heard->what) != denied_.end();
    if (!known && denied_.size() < most_denied) denied_.push_back(heard->what);
    if (heard->deadly) kill(cause::denied_syscall);
}

void run::kill(cause why)
{
    if (!found_.killed_for) {
        found_.killed_for = why;
        found_.cpu = meter_.processor_time();   // the kernel drops the times of what ends with its first process
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
    if (!look_at_workspace()) return;
    next_look_ = now + next_look(used.memory, limits_.memory);
}

// Whether the disk fills although a count finds nothing: the files are deleted but in use, or were moved about under it.
bool run::hides_files(std::uint64_t written, tree_bounds most)
{
    if (written <= most.bytes) return false;
    const std::uint64_t free_now = workspace_ledger::free_room(workspace_.get()).bytes;
    const std::uint64_t lost = room_at_start_.bytes > free_now ? room_at_start_.bytes - free_now : 0;
    // Others use the disk too: only what the run itself wrote is held against it.
    if (std::min(lost, written) / 4 > most.bytes) return true;
    const auto now = std::chrono::steady_clock::now();
    if (now < search_again_) return false;
    search_again_ = now + pause_between_searches;
    return meter_.deleted(workspace_key_.first) + workspaces_.counted(workspace_key_) > most.bytes;
}

// False: the run was ended.
bool run::look_at_workspace()
{
    using finding = workspace_ledger::finding;
    if (!workspace_ || began_full_) return true;
    const tree_bounds most = workspace_bounds(limits_);
    // Others may make room on the disk meanwhile, so what the run wrote counts as well.
    const std::uint64_t written = meter_.written();
    const bool wrote_much = written > written_at_count_ + uncounted_share;
    if (wrote_much) written_at_count_ = written;
    finding found = workspaces_.look(workspace_key_, workspace_.get(), most, begun_, wrote_much);
    if (found == finding::fits && hides_files(written, most)) found = finding::too_large;
    if (found == finding::fits) return true;
    detail_ = explain_full(found, limits_);
    kill(cause::file_size_limit);
    return false;
}

void run::look(steady_time now)
{
    if (found_.killed_for) {
        deadline_ = next_look_ = steady_time::max();
        return;
    }
    if (refusals_) refusals_budget_ = refusals_each_look;
    if (now >= deadline_) return kill(cause::timeout);
    if (now >= next_look_) measure(now);
}

ended_message run::finish()
{
    siginfo_t info{};
    rusage used{};
    const auto pidfd = child_.pidfd.get();
    while (::syscall(SYS_waitid, P_PIDFD, pidfd, &info, WEXITED, &used) != 0 && errno == EINTR) {}
    if (messages_) wait_for_firejail();
    hear();
    child_.pidfd.reset();
    ids_.release(number_);
    if (workspace_) workspaces_.note_end(workspace_key_, workspace_.get(), workspace_bounds(limits_));
    if (messages_) return report();   // the rest is Firejail's own use
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
    result.denied = std::move(denied_);
    result.detail = detail_;
    if (began_full_) result.denied.push_back("writing to the workspace, which is full: only deleting works in it");
    if (found_.out_of_processes)
        result.denied.push_back("fork: the limit of " + std::to_string(limits_.processes) + " processes was reached");
    return ended;
}

}  // namespace cmcp::sandbox
