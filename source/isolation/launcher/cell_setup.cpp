#include "launcher/cell.hpp"

#include "cell/cell_server.hpp"
#include "facilities/apparmor.hpp"
#include "facilities/fault.hpp"
#include "facilities/mounts.hpp"
#include "facilities/setup_step.hpp"
#include "firejail/inside.hpp"
#include "jail/closing.hpp"
#include "jail/jail.hpp"
#include "jail/tree_builder.hpp"
#include "jail/zygote_wire.hpp"
#include "launcher/browser.hpp"
#include "launcher/machine_disk.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <string>

// How a cell comes about; cell.cpp has its life.
namespace cmcp::sandbox {

static_assert(identities::machine_disk == machine_owner);

namespace {

id_pair owner_of(int tree, std::pair<dev_t, ino_t>& folder)
{
    struct stat status {};
    check(::fstat(tree, &status), "open workspace");
    if (!S_ISDIR(status.st_mode)) throw step_failed("open workspace", ENOTDIR);
    folder = {status.st_dev, status.st_ino};
    return {status.st_uid, status.st_gid};
}

// A pipe with a name is a file of some folder; one that pipe(2) made is in no folder.
bool is_nameless_pipe(int descriptor)
{
    struct stat status {};
    struct statfs where {};
    return descriptor >= 0 && ::fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode) &&
           ::fstatfs(descriptor, &where) == 0 && where.f_type == PIPEFS_MAGIC;
}

unique_fd mount_of(const std::vector<given_file>& files)
{
    constexpr std::uint64_t protected_files =
        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
    constexpr std::uint64_t pages = 4096, most_files = 64;
    const std::string step = "prepare the cell's own files";
    unique_fd folder = new_tmpfs({most_given_bytes + most_files * pages, most_files, "755"},
                                 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, step);
    tree_builder tree(unique_fd(check(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 3), step)));
    for (const auto& [name, content] : files) tree.file("/" + name, content, 0444);
    set_mount_attributes(folder.get(), protected_files, false, step);
    return folder;
}

void take_root(const view& seen, jail_plan& plan)
{
    plan.rules = seen.rules;
    if (seen.execution)
        plan.execution.reset(check(::fcntl(seen.execution.get(), F_DUPFD_CLOEXEC, 0), "prepare Landlock"));
    plan.writable_may_execute = seen.writable_may_execute;
    plan.root = copy_mount_tree(seen.root.get(), "", "clone the root");
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

}  // namespace

cell::cell(const shared_parts& parts, const run_request& request, bool probe, bool lasts)
    : parts_(parts),
      identity_(parts.ids.take()),
      limits_(request.limits),
      workspace_(parts.workspaces),
      probe_(probe),
      lasts_(lasts),
      machine_(request.machine),
      widens_(lasts && !request.shape.empty() && request.limits.process_memory != 0),
      narrowest_memory_(request.limits.memory),
      browses_(request.browser),
      beside_limit_(lasts ? most_standby : 0)
{
    if (request.argv.empty()) throw step_failed("read the request: no program", EINVAL);
    prepare(request, probe);
    constexpr std::uint64_t first_process = 1, firejails_own = 3;
    plan_->lasts = lasts;
    cgroup_ = parts_.cgroups.make(identity_.number(), request.principal, limits_,
                                  firejail_ ? firejails_own : first_process + beside_limit_, browses_);
    std::tie(control_, plan_->control) = packet_socket_pair();
}

void cell::prepare(const run_request& request, bool probe)
{
    jail_plan& plan = *plan_;
    plan.request = request;
    plan.probe = probe;
    if (machine_) begin_machine();
    choose_filters();
    outside_ = parts_.ids.outside(identity_.number());
    plan.maps_itself = !parts_.ids.privileged();
    prepare_view();
    if (!request.files.empty()) plan.files = mount_of(request.files);
    if (!request.workspace.empty()) {
        const unique_fd folder = parts_.root.open(request.workspace, O_PATH);
        workspace_.open(folder.get(), request.limits);
        if (workspace_.began_full()) allow_only_removal();
        prepare_workspace(folder.get());
        if (machine_) prepare_machine(folder.get());
    }
    if (parts_.ids.privileged() && outside_.user == 0)
        throw step_failed(request.workspace.empty() ? "find a user" : "workspace owner", EPERM);
    plan.outside = outside_;
}

void cell::choose_filters()
{
    jail_plan& plan = *plan_;
    const run_request& request = plan.request;
    if (browses_) {
        plan.filters = {&browser_filter()};
        return;
    }
    if (machine_) {
        const machine_filter& compiled = parts_.filters.machine({plan.machine->nested, !parts_.ids.machine_ranges()});
        plan.filters = parts_.filters.with_shared(compiled.quiet);
        plan.announcing = &compiled.announcing;
        return;
    }
    plan.filters = parts_.filters.choose(request.programs);
    plan.announcing = parts_.filters.announcing(request.programs);
    if (parts_.with_apparmor) plan.apparmor = apparmor_profile_for(request.argv.at(0));
}

void cell::prepare_view()
{
    jail_plan& plan = *plan_;
    if (parts_.jailer != nullptr && browses_) {  // a launcher that starts Firejail has no mounts of its own
        plan.before_root = [&plan] { take_root(view_store({}, {}).find(plan.request), plan); };
        return;
    }
    if (parts_.jailer != nullptr) {
        if (!plan.request.image.empty()) throw step_failed("Firejail: show an image", ENOTSUP);
        firejail_.emplace().profile = parts_.jailer->prepare(plan);
        return;
    }
    const view& seen = parts_.views->find(plan.request);
    view_ = seen.mount_point;
    take_root(seen, plan);
}

// A run in a full workspace may only make room.
void cell::allow_only_removal()
{
    if (landlock_abi() == 0) throw step_failed("workspace is full", EDQUOT);
    landlock_rules& rules = plan_->rules;
    if (machine_) {
        plan_->machine->full = true;
        std::erase_if(rules.read_write, [&](const auto& path) { return path == plan_->request.workspace_inside; });
        rules.read_execute = {"/"};
        rules.read_remove.emplace_back("/");
        return;
    }
    const std::string& folder = plan_->request.workspace_inside;
    const std::string prefix = folder + "/";  // under Firejail it may be in /tmp
    std::erase_if(rules.read_write, [&](const std::string& path) { return prefix.starts_with(path + "/"); });
    rules.read_remove.push_back(folder);
}

void cell::prepare_workspace(int folder)
{
    jail_plan& plan = *plan_;
    if (parts_.jailer != nullptr && !parts_.ids.privileged()) return;
    plan.workspace = copy_mount_tree(folder, "", "open workspace " + plan.request.workspace);
    const std::uint64_t no_exec = plan.writable_may_execute ? 0 : MOUNT_ATTR_NOEXEC;
    set_mount_attributes(plan.workspace.get(), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | no_exec, true,
                         "protect the workspace");
    const id_pair owner = owner_of(plan.workspace.get(), folder_);
    if (!parts_.ids.privileged()) return;
    if (machine_) {
        if (!map_mount_ids(plan.workspace.get(), parts_.ids.machine_files_mapping(owner, identity_.number())))
            throw step_failed("mount the machine's files");
        return;
    }
    const bool own_range = parts_.ids.own_range();
    if (own_range && map_mount_ids(plan.workspace.get(), parts_.ids.mapping(owner, identity_.number()))) return;
    // No id-mapped mounts here: the run acts as the workspace's owner, but never as root.
    if (owner.user == 0 || owner.group == 0) throw step_failed("workspace owner", errno);
    outside_ = owner;
}

void cell::begin_machine()
{
    if (parts_.machines == machines_allowed::none) throw step_failed("be a machine", EPERM);
    if (parts_.jailer != nullptr) throw step_failed("Firejail: be a machine", ENOTSUP);
    if (!lasts_ || plan_->request.workspace.empty()) throw step_failed("be a machine", EINVAL);
    if (parts_.ids.privileged() && !parts_.ids.own_range()) throw step_failed("find a user", EPERM);
    parts_.views->prepare_machines(parts_.ids);
    // A file system in memory that a program mounts is counted by a cgroup alone.
    plan_->machine.emplace().nested = parts_.machines == machines_allowed::nested && parts_.filters.memory_is_counted();
    machine_ids_ = parts_.ids.machine_ids(identity_.number());
}

// What the overlays change is kept beside the files of the sandbox, so it is copied, moved and counted with them.
void cell::prepare_machine(int folder)
{
    machine_plan& machine = *plan_->machine;
    const unsigned number = identity_.number();
    const bool privileged = parts_.ids.privileged();
    std::optional<id_pair> owner;
    if (parts_.ids.machine_ranges())
        owner = id_pair{identities::machine_disk, identities::machine_disk};
    else if (privileged)
        owner = owner_of(folder, folder_);
    const auto& layers = parts_.views->find(plan_->request).layers;
    machine.stage = parts_.views->machine_stage();
    machine.data = parts_.views->overlay_of_data();
    machine.disk = open_machine_disk(folder, owner, layers);
    if (privileged && !map_mount_ids(machine.disk.get(), owner->user == identities::machine_disk
                                                             ? parts_.ids.machine_disk_mapping(number)
                                                             : parts_.ids.mapping(*owner, number)))
        throw step_failed("mount the machine's changes");
    for (const auto& [path, lower] : layers) {
        machine_layer& layer = machine.layers.emplace_back();
        layer.path = path;
        for (const auto& shown : lower) {
            layer.lower.push_back(copy_mount(AT_FDCWD, shown.mount_point, "show " + path));
            if (privileged && shown.maps_ids &&
                !map_mount_ids(layer.lower.back().get(), parts_.ids.machine_programs_mapping(number)))
                throw step_failed("show " + path + " to the machine");
        }
    }
}

// The ids of a cell as the launcher writes them; without privilege its first process does.
void cell::write_ids() const
{
    if (!parts_.ids.privileged()) return;
    const std::string process = std::to_string(child_.pid);
    if (machine_)
        write_id_ranges(process, machine_ids_);
    else
        write_id_maps(process, inside_ids, outside_, false);
}

void cell::launch()
{
    if (firejail_)
        launch_firejail();
    else
        clone_first_process();
    plan_.reset();
}

std::vector<int> cell::clone_descriptors() const
{
    std::vector<int> descriptors{plan_->control.get()};
    if (cgroup_.folder() >= 0) descriptors.push_back(cgroup_.folder());
    return descriptors;
}

void cell::attach(cloned child)
{
    child_ = std::move(child);
    const auto plan = std::move(plan_);
    settle(child_.pid);
    if (!send_packet(control_.get(), encode_plan(*plan), plan_descriptors(*plan)))
        throw step_failed("hand over the plan", EAGAIN);
    write_ids();
    send_packet(control_.get(), "g");
}

// The user who made a pipe owns it, so /dev/stdout would not open for another user. Whatever else a server hands over
// as an output keeps its owner: that may be a file of the machine.
void cell::give_pipes(std::initializer_list<int> pipes) const
{
    if (!parts_.ids.privileged()) return;
    const id_pair outside = machine_ ? id_pair{machine_ids_.front().to, machine_ids_.front().to} : outside_;
    for (const int pipe : pipes)
        if (is_nameless_pipe(pipe) && ::fchown(pipe, outside.user, outside.group) != 0)
            throw step_failed("give the pipes to the run");
}

// The children of the process inherit its groups and its priority. 0: the caller.
void cell::settle(pid_t process) const
{
    cgroup_.take(process);
    lower_priority(process);
}

// The server's own work goes before runs also where no group shares the processors out.
void cell::lower_priority(pid_t process) const
{
    constexpr int behind_the_server = 10;
    if (cgroup_.holds("cpu")) return;
    check(::setpriority(PRIO_PROCESS, static_cast<id_t>(process), behind_the_server), "lower the priority");
}

void cell::clone_first_process()
{
    child_ = clone_into_namespaces(namespaces_of_a_run(parts_.with_time_namespace), cgroup_.folder());
    if (child_.pid == 0) live_and_end([&] { serve_cell(*plan_); });
    settle(child_.pid);
    write_ids();
    send_packet(control_.get(), "g");
}

void cell::launch_firejail()
{
    jail_plan& plan = *plan_;
    firejail_->messages.reset(check(::memfd_create("firejail", MFD_CLOEXEC), "prepare Firejail"));
    send_inside_plan(control_.get(), plan, parts_.jailer->namespaces_outside());
    child_ = clone_into_namespaces(parts_.ids.privileged() ? CLONE_NEWNS : 0, cgroup_.folder());
    if (child_.pid != 0) return;
    live_and_end([&] {
        try {
            settle(0);
            parts_.jailer->become(plan, firejail_->profile, firejail_->messages.get());
        } catch (const step_failed& failure) {
            report_failure(plan.control.get(), failure);
        }
    });
}

}  // namespace cmcp::sandbox
