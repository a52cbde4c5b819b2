#include "jail/jail.hpp"

#include "facilities/fault.hpp"
#include "facilities/mounts.hpp"
#include "facilities/setup_step.hpp"
#include "jail/closing.hpp"
#include "jail/doors.hpp"
#include "jail/payload.hpp"
#include "limits/limits.hpp"
#include "limits/machine_figures.hpp"
#include "limits/socket_memory.hpp"
#include "limits/watchdog.hpp"
#include "probe/probe.hpp"
#include "wire/packet_socket.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp::sandbox {
namespace {

constexpr const char* own_files_path = "run/container-mcp/own";
constexpr std::uint64_t private_memory = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

void close_foreign_descriptors(const jail_plan& plan)
{
    std::vector<int> own{plan.root.get(), plan.workspace.get(), plan.files.get(), plan.execution.get(),
                         plan.control.get()};
    if (plan.machine) {
        own.push_back(plan.machine->disk.get());
        own.push_back(plan.machine->data.get());
        for (const machine_layer& layer : plan.machine->layers)
            for (const unique_fd& lower : layer.lower) own.push_back(lower.get());
    }
    close_all_but(std::move(own));
    // 0 to 4 must stay taken: the payload's descriptors are put there later.
    for (int descriptor = 0; descriptor < 5; ++descriptor)
        check(::open("/dev/null", O_RDWR | O_CLOEXEC), "open /dev/null");
}

// A run that is given no input reads the /dev/null of its own root, whichever root its first process was cloned in.
void take_null_of_own_root()
{
    const unique_fd null(check(::open("/dev/null", O_RDWR | O_CLOEXEC), "open /dev/null"));
    for (int descriptor = 0; descriptor < 5; ++descriptor)
        check(::dup3(null.get(), descriptor, O_CLOEXEC), "open /dev/null");
}

unique_fd mount_own_memory(const jail_plan& plan, const std::string& path, std::uint64_t more)
{
    const std::uint64_t no_exec = plan.writable_may_execute ? 0 : MOUNT_ATTR_NOEXEC;
    return mount_memory(plan.root.get(), path, plan.request.limits.tmp_size, 1024, private_memory | no_exec | more);
}

// The kernel counts what cells watch by the user outside too, and root's cells have one: no cell may take it all. These
// files are those of the reader's user namespace.
void limit_watches(const unique_fd& proc)
{
    if (left_out("user_namespace")) return;
    constexpr std::pair<const char*, std::string_view> limits[] = {{"sys/user/max_inotify_instances", most_watchers},
                                                                   {"sys/user/max_inotify_watches", most_watches}};
    for (const auto& [path, most] : limits) {
        const unique_fd limit(::openat(proc.get(), path, O_WRONLY | O_CLOEXEC));
        if (!limit && errno == ENOENT) continue;  // a kernel without inotify
        check(limit.get(), "limit watches");
        check(::write(limit.get(), most.data(), most.size()), "limit watches");
    }
}

// Every port is the cell's own, so its programs may listen on those below 1024, too. This file is that of the writer's
// network namespace. Where it is not to be written, the kernel's bound stays.
void open_low_ports(const unique_fd& proc)
{
    if (left_out("network_namespace")) return;
    const unique_fd first(::openat(proc.get(), "sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY | O_CLOEXEC));
    if (first) static_cast<void>(::write(first.get(), "0", 1) == 1);
}

// The figures and settings lie in the root's own folder /proc, which the mount covers.
void mount_processes_and_figures(const jail_plan& plan)
{
    const int root = plan.root.get();
    std::vector<std::pair<std::string, unique_fd>> figures;
    const auto copy = [&](const char* name) {
        const std::string path = std::string("proc/") + name;
        figures.emplace_back(path, copy_mount_tree(root, path, proc_step));
    };
    for (const char* name : figures_of_limits) copy(name);
    copy("sys");
    const auto visible = new_proc({.traceable_only = !plan.machine});
    limit_watches(visible.mount);
    open_low_ports(visible.mount);
    attach_mount(visible.mount.get(), root, "proc", proc_step);
    copy(kernels_figure);
    copy(kernels_setting);  // of the mount, as long as the settings above do not cover it
    for (const auto& [path, figure] : figures) attach_mount(figure.get(), root, path, proc_step);
    show_processes_only(visible);
}

// Where the kernel cannot show figures beside processes only, processes only are shown.
void mount_visible_processes(const jail_plan& plan)
{
    try {
        mount_processes_and_figures(plan);
    } catch (const step_failed&) {
        detach_mounts(root_mount_point + std::string("/proc"));  // fails where it did not get so far
        const auto visible = new_proc({.processes_only = true, .traceable_only = !plan.machine});
        attach_mount(visible.mount.get(), plan.root.get(), "proc", proc_step);
    }
}

// Unlike a run's, with the machine's figures: the browser sizes its caches by /proc/meminfo.
void mount_processes_of_browser(const jail_plan& plan, usage_sources& mounts)
{
    const auto processes = new_proc({}).mount;
    attach_mount(processes.get(), plan.root.get(), "proc", proc_step);
    mounts.processes.reset(::openat(processes.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Inside a container with a masked /proc the kernel refuses a fresh one; the run then has none, never the container's.
void mount_processes(const jail_plan& plan, usage_sources& mounts)
{
    if (left_out("private_proc")) return;
    if (plan.request.browser) return mount_processes_of_browser(plan, mounts);
    try {
        mount_visible_processes(plan);
        const auto watched = new_proc({.processes_only = true});
        mounts.processes.reset(::openat(watched.mount.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    } catch (const step_failed& refused) {
        if (refused.error != EPERM) throw;
    }
}

// What is below the overlays is not written to beside them.
void cover_machine_folder(const jail_plan& plan)
{
    const std::string path = plan.request.workspace_inside + "/" + machine_folder;
    const auto cover = new_tmpfs({4096, 1, "755"}, private_memory | MOUNT_ATTR_RDONLY, "cover " + path);
    attach_mount(cover.get(), plan.root.get(), path.substr(1), "cover " + path);
}

void show_workspace(const jail_plan& plan)
{
    if (plan.workspace)
        attach_mount(plan.workspace.get(), plan.root.get(), plan.request.workspace_inside.substr(1),
                     "mount the workspace");
    else
        mount_own_memory(plan, plan.request.workspace_inside, 0);
    if (plan.machine) cover_machine_folder(plan);
}

void attach_root(jail_plan& plan)
{
    if (plan.machine)
        plan.root = mount_machine_root(*plan.machine);
    else
        attach_mount(plan.root.get(), AT_FDCWD, root_mount_point, "mount the root");
}

usage_sources build_file_system(jail_plan& plan)
{
    usage_sources mounts;
    left_out("mounts");
    attach_root(plan);
    mount_processes(plan, mounts);
    mounts.temporary = mount_own_memory(plan, "/tmp", 0);
    mounts.shared = mount_own_memory(plan, "/dev/shm", MOUNT_ATTR_NOEXEC);
    mounts.sockets = open_socket_statistics();
    if (plan.lasts) mount_terminals(plan.root.get());
    show_workspace(plan);
    if (plan.files) attach_mount(plan.files.get(), plan.root.get(), own_files_path, "mount the cell's own files");
    enter_root(plan.root.get());
    return mounts;
}

void note_own_memory(jail_plan& plan)
{
    std::vector<const char*> folders{"/tmp", "/dev/shm"};
    if (!plan.workspace) folders.push_back(plan.request.workspace_inside.c_str());
    for (const char* folder : folders) {
        struct stat status {};
        check(::stat(folder, &status), "look at the cell's own folders");
        plan.own_memory.push_back(status.st_dev);
    }
}

// A browser reserves, locks and opens more than the limits of other programs allow.
void limit_processes_of(const jail_plan& plan)
{
    if (plan.request.browser) return limit_number_and_cores(plan.request.limits, 1);
    apply_limits(plan.request.limits, plan.lasts ? 1 + most_standby : 1);
}

// Podman's own system call profile forbids this call. The run then has a UTS namespace of its own with the container's
// name.
void name_host()
{
    if (::sethostname("sandbox", 7) != 0 && errno != EPERM && errno != ENOSYS) throw step_failed("set the host name");
}

}  // namespace

usage_sources enter_jail(jail_plan& plan)
{
    close_foreign_descriptors(plan);
    die_with_parent();
    const id_pair inside = plan.machine ? inside_root : inside_ids;
    if (plan.maps_itself) map_own_ids(plan.outside, inside);
    await_packet_or_end(plan.control.get());  // until the launcher has mapped the ids, too
    left_out("own_uid");
    become_inside_user(!plan.maps_itself, inside);
    if (!plan.root) plan.before_root();
    usage_sources mounts = build_file_system(plan);
    tell_ready(plan.control.get(), mounts);
    if (!left_out("mounts")) note_own_memory(plan);
    take_null_of_own_root();
    if (!left_out("network_namespace")) {
        bring_loopback_up();
        add_loopback_addresses();
    }
    if (!plan.request.doors.empty() || plan.request.tools)
        hand_over_doors(plan.control.get(), plan.request.doors, plan.request.tools);
    if (!left_out("uts_namespace")) name_host();
    if (!left_out("keyrings")) forget_keyrings();
    check(::setsid(), "new session");
    if (!left_out("rlimits")) limit_processes_of(plan);
    if (plan.probe) plan.outside_socket = make_outside_socket();
    enter_working_folder(plan.request);
    plan.root.reset();
    plan.workspace.reset();
    plan.files.reset();
    give_up_privileges(plan);
    plan.execution.reset();
    return mounts;
}

}  // namespace cmcp::sandbox
