#include "browser_host/browser_root.hpp"

#include "jail/etc_files.hpp"
#include "jail/mounts.hpp"
#include "jail/setup_step.hpp"
#include "jail/tree_builder.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace cmcp::browser_host {
namespace {

namespace fs = std::filesystem;
using namespace sandbox;

constexpr std::uint64_t private_memory = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr std::uint64_t read_only = private_memory | MOUNT_ATTR_RDONLY;
constexpr std::uint64_t device = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;

// Chromium and Google Chrome read their managed policy from different folders.
constexpr const char* policy_files[] = {"/etc/chromium/policies/managed/container-mcp.json",
                                        "/etc/opt/chrome/policies/managed/container-mcp.json"};

void add_system_folders(tree_builder& tree)
{
    tree.bind("/usr", "/usr", read_only);
    for (const char* path : {"/bin", "/sbin", "/lib", "/lib32", "/lib64"}) {
        std::error_code ignored;
        if (fs::is_symlink(path, ignored))
            tree.link(path, fs::read_symlink(path, ignored).string());
        else if (fs::is_directory(path, ignored))
            tree.bind(path, path, read_only);
    }
}

// A browser that is not a package of the system brings its libraries in its own folder.
void add_program_folder(tree_builder& tree, const std::string& program)
{
    const std::string folder = fs::path(program).parent_path().string();
    if (!tree.exists(program)) tree.bind(folder, folder, read_only);
}

void add_files(tree_builder& tree, const root_plan& plan)
{
    add_etc_files(tree, home, true);
    for (const char* path : policy_files) tree.file(path, plan.policy);
    for (const char* path : {"/etc/ssl/certs", "/usr/share/ca-certificates", "/var/cache/fontconfig"})
        if (fs::is_directory(path) && !tree.exists(path)) tree.bind(path, path, read_only);
}

void add_devices(tree_builder& tree)
{
    for (const char* name : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"})
        tree.bind(name, name, device);
    tree.link("/dev/fd", "/proc/self/fd");
}

unique_fd add_memory(int root, tree_builder& tree, const std::string& path, std::uint64_t size)
{
    tree.folder(path);
    auto memory = new_tmpfs({size, std::max<std::uint64_t>(4096, size / 4096), "1777"},
                            private_memory | MOUNT_ATTR_NOEXEC, "mount " + path);
    attach_mount(memory.get(), root, path.substr(1), "mount " + path);
    return memory;
}

// Unlike a run's, with the machine's figures: the browser sizes its caches by /proc/meminfo.
unique_fd new_whole_proc()
{
    const unique_fd context(static_cast<int>(check(::syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC), "mount /proc")));
    check(::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0), "mount /proc");
    constexpr unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
    return unique_fd(
        static_cast<int>(check(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, attributes), "mount /proc")));
}

root_mounts add_mounts(int root, tree_builder& tree, const root_plan& plan)
{
    root_mounts mounts;
    tree.folder("/proc");
    const auto processes = new_whole_proc();
    attach_mount(processes.get(), root, "proc", "mount /proc");
    mounts.processes.reset(::openat(processes.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    mounts.temporary = add_memory(root, tree, "/tmp", plan.files);
    mounts.shared = add_memory(root, tree, "/dev/shm", plan.files);
    add_memory(root, tree, home, plan.files);
    return mounts;
}

}  // namespace

root_mounts enter_browser_root(const root_plan& plan)
{
    const std::string stage = stage_folder();
    const auto tree_root = new_tmpfs({16 << 20, 8192, "755"}, private_memory, "prepare the browser's root");
    attach_mount(tree_root.get(), AT_FDCWD, stage, "prepare the browser's root");
    const unique_fd root(check(::open(stage.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC), "prepare the browser's root"));
    tree_builder tree(unique_fd(::fcntl(root.get(), F_DUPFD_CLOEXEC, 0)));
    add_system_folders(tree);
    add_program_folder(tree, plan.program);
    add_files(tree, plan);
    add_devices(tree);
    root_mounts mounts = add_mounts(root.get(), tree, plan);
    set_mount_attributes(root.get(), read_only, false, "protect the browser's root");
    enter_root(root.get());
    return mounts;
}

}  // namespace cmcp::browser_host
