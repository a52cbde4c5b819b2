#include "launcher/run.hpp"

#include "jail/apparmor.hpp"
#include "jail/closing.hpp"
#include "jail/fault.hpp"
#include "jail/held_program.hpp"
#include "jail/jail.hpp"
#include "jail/mounts.hpp"
#include "jail/setup_step.hpp"
#include "jail/zygote_wire.hpp"
#include "launcher/inside.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

// How a run comes about; its life is in run.cpp.
namespace cmcp::sandbox {
namespace {

id_pair owner_of(int tree, std::pair<dev_t, ino_t>& place)
{
    struct stat status {};
    check(::fstat(tree, &status), "open workspace");
    if (!S_ISDIR(status.st_mode)) throw step_failed("open workspace", ENOTDIR);
    place = {status.st_dev, status.st_ino};
    return {status.st_uid, status.st_gid};
}

std::uint64_t namespaces_of_a_run(bool with_time)
{
    constexpr std::pair<const char*, std::uint64_t> kinds[] = {
        {"user_namespace", CLONE_NEWUSER}, {"pid_namespace", CLONE_NEWPID},      {"mount_namespace", CLONE_NEWNS},
        {"ipc_namespace", CLONE_NEWIPC},   {"network_namespace", CLONE_NEWNET},  {"uts_namespace", CLONE_NEWUTS},
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
    : ids_(shop.ids),
      id_(start.id),
      number_(shop.ids.take()),
      limits_(start.request.limits),
      workspace_(shop.workspaces)
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
    : ids_(shop.ids),
      id_(key),
      number_(shop.ids.take()),
      limits_(shape.limits),
      workspace_(shop.workspaces),
      deadline_(steady_time::max()),
      next_look_(steady_time::max()),
      plan_(std::make_unique<jail_plan>())
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
    workspace_.open(plan.request);
    if (workspace_.began_full()) allow_only_removal(plan);
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
    views_ = shop.views;
    const view& seen = views_->find(plan.request);
    view_ = seen.place;
    plan.rules = seen.rules;
    plan.writable_may_execute = seen.writable_may_execute;
    plan.root = copy_mount_tree(seen.root.get(), "", "clone the root");
}

void run::launch_waiting(workshop& shop, int library)
{
    held_ = library >= 0;
    plan_->held_library = library;
    launch(shop, *plan_, held_ ? run_held_child : run_waiting_child);
    outside_ = plan_->outside;
    plan_.reset();
}

// A pipe belongs to who made it: /dev/stdout would not open for another user.
void run::give_pipes(std::initializer_list<int> pipes, id_pair outside) const
{
    for (const int pipe : pipes)
        if (ids_.privileged() && pipe >= 0 && ::fchown(pipe, outside.user, outside.group) != 0)
            throw step_failed("give the pipes to the run");
}

// A run in a full workspace may only make room.
void run::allow_only_removal(jail_plan& plan) const
{
    if (landlock_abi() == 0) throw step_failed("workspace is full", EDQUOT);
    const std::string place = plan.request.workspace_inside + "/";  // under Firejail it may be in /tmp
    std::erase_if(plan.rules.read_write, [&](const std::string& path) { return place.starts_with(path + "/"); });
    plan.rules.read_remove.push_back(plan.request.workspace_inside);
}

void run::prepare_workspace(workshop& shop, jail_plan& plan)
{
    if (plan.request.workspace.empty() || (shop.jailer != nullptr && !ids_.privileged())) return;
    plan.workspace = copy_mount_tree(AT_FDCWD, plan.request.workspace, "open workspace " + plan.request.workspace);
    const std::uint64_t no_exec = plan.writable_may_execute ? 0 : MOUNT_ATTR_NOEXEC;
    set_mount_attributes(plan.workspace.get(), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | no_exec, true,
                         "protect the workspace");
    const id_pair owner = owner_of(plan.workspace.get(), place_);
    if (!shop.ids.privileged()) return;
    if (shop.ids.own_range() && map_mount_ids(plan.workspace.get(), shop.ids.mapping(owner, number_))) return;
    // No id-mapped mounts here: the run acts as the workspace's owner, but never as root.
    if (owner.user == 0 || owner.group == 0) throw step_failed("workspace owner", errno);
    plan.outside = owner;
}

namespace {

// Whatever happens to the first process of a run, it never comes back into the launcher's own loop.
[[noreturn]] void live_and_end(void (*live)(jail_plan&), jail_plan& plan)
{
    try {
        live(plan);
    } catch (...) {  // the launcher sees it end, and tells it
    }
    ::_exit(127);
}

}  // namespace

void run::launch(workshop& shop, jail_plan& plan, void (*live)(jail_plan&))
{
    give_pipes({plan.output.get(), plan.error.get(), plan.result.get()}, plan.outside);
    child_ = clone_into_namespaces(namespaces_of_a_run(shop.with_time_namespace), cgroup_.folder());
    if (child_.pid == 0) live_and_end(live, plan);
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

}  // namespace cmcp::sandbox
