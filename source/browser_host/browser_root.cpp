#include "browser_host/browser_jail.hpp"

#include "jail/mounts.hpp"
#include "jail/setup_step.hpp"
#include "jail/system_files.hpp"
#include "jail/tree_builder.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <unistd.h>

#include <filesystem>

namespace cmcp::browser_host {
namespace {

namespace fs = std::filesystem;
using namespace sandbox;

constexpr std::uint64_t private_memory = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

// Chromium and Google Chrome read their managed policy from different folders.
constexpr const char* policy_files[] = {"/etc/chromium/policies/managed/container-mcp.json",
                                        "/etc/opt/chrome/policies/managed/container-mcp.json"};

// A browser that is not a package of the system brings its libraries in its own folder.
void add_program_folder(tree_builder& tree, const std::string& program)
{
    const std::string folder = fs::path(program).parent_path().string();
    if (!tree.exists(program)) bind_read_only(tree, folder);
}

void add_files(tree_builder& tree, const jail_plan& plan)
{
    add_etc_files(tree, home, true);
    for (const char* path : policy_files) tree.file(path, plan.policy);
    for (const char* path : {"/etc/ssl/certs", "/usr/share/ca-certificates", "/var/cache/fontconfig"})
        if (fs::is_directory(path) && !tree.exists(path)) bind_read_only(tree, path);
}

void add_devices(tree_builder& tree)
{
    for (const char* name : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"})
        add_device(tree, name);
    tree.link("/dev/fd", "/proc/self/fd");
}

usage_sources add_mounts(int root, tree_builder& tree, const jail_plan& plan)
{
    usage_sources mounts;
    for (const char* path : {"/proc", "/tmp", "/dev/shm", home}) tree.folder(path);
    // Unlike a run's, with the machine's figures: the browser sizes its caches by /proc/meminfo.
    const auto processes = new_proc({}).mount;
    attach_mount(processes.get(), root, "proc", "mount /proc");
    mounts.processes.reset(::openat(processes.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto memory = [&](const char* path) {
        return mount_memory(root, path, plan.start.files, 4096, private_memory | MOUNT_ATTR_NOEXEC);
    };
    mounts.temporary = memory("/tmp");
    mounts.shared = memory("/dev/shm");
    memory(home);
    return mounts;
}

}  // namespace

usage_sources enter_browser_root(const jail_plan& plan)
{
    const std::string stage = stage_folder();
    const auto tree_root = new_tmpfs({16 << 20, 8192, "755"}, private_memory, "prepare the browser's root");
    attach_mount(tree_root.get(), AT_FDCWD, stage, "prepare the browser's root");
    const unique_fd root(check(::open(stage.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC), "prepare the browser's root"));
    tree_builder tree(unique_fd(::fcntl(root.get(), F_DUPFD_CLOEXEC, 0)));
    add_all_programs(tree);
    add_program_folder(tree, plan.start.argv.at(0));
    add_files(tree, plan);
    add_devices(tree);
    usage_sources mounts = add_mounts(root.get(), tree, plan);
    set_mount_attributes(root.get(), private_memory | MOUNT_ATTR_RDONLY, false, "protect the browser's root");
    enter_root(root.get());
    return mounts;
}

}  // namespace cmcp::browser_host
