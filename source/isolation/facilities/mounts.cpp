#include "facilities/mounts.hpp"

#include "facilities/setup_step.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

// <sys/mount.h> clashes with <linux/mount.h> under some C libraries, so the needed functions are declared here.
extern "C" int umount2(const char* target, int flags) noexcept;
extern "C" int mount(const char*, const char*, const char*, unsigned long, const void*) noexcept;

namespace cmcp::sandbox {
namespace {

constexpr int detach_flag = 2;                                 // MNT_DETACH
constexpr unsigned long recursive_private = 0x4000 | 0x40000;  // MS_REC | MS_PRIVATE
constexpr unsigned long recursive_slave = 0x4000 | 0x80000;    // MS_REC | MS_SLAVE

long configure(int context, unsigned command, const char* key, const char* value)
{
    return ::syscall(SYS_fsconfig, context, command, key, value, 0);
}

unique_fd open_context(const char* kind, const std::string& step)
{
    return unique_fd(static_cast<int>(check(::syscall(SYS_fsopen, kind, FSOPEN_CLOEXEC), step)));
}

unique_fd finish(const unique_fd& context, std::uint64_t attributes, const std::string& step)
{
    check(configure(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr), step);
    const long mounted = ::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes));
    return unique_fd(static_cast<int>(check(mounted, step)));
}

}  // namespace

namespace {

unique_fd open_copy(int directory, const std::string& path, unsigned more, const std::string& step)
{
    const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | more | (path.empty() ? AT_EMPTY_PATH : 0);
    return unique_fd(static_cast<int>(check(::syscall(SYS_open_tree, directory, path.c_str(), flags), step)));
}

std::string joined_folders(const std::vector<std::string>& folders)
{
    std::string all;
    for (const auto& folder : folders) all += (all.empty() ? "" : ":") + folder;
    return all;
}

}  // namespace

unique_fd copy_mount_tree(int directory, const std::string& path, const std::string& step)
{
    return open_copy(directory, path, AT_RECURSIVE, step);
}

unique_fd copy_mount(int directory, const std::string& path, const std::string& step)
{
    return open_copy(directory, path, 0, step);
}

void set_mount_attributes(int tree, std::uint64_t attributes, bool recursive, const std::string& step)
{
    mount_attr wanted{};
    wanted.attr_set = attributes;
    const unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0);
    check(::syscall(SYS_mount_setattr, tree, "", flags, &wanted, sizeof wanted), step);
}

bool map_mount_ids(int tree, int user_namespace)
{
    mount_attr wanted{};
    wanted.attr_set = MOUNT_ATTR_IDMAP;
    wanted.userns_fd = static_cast<std::uint64_t>(user_namespace);
    return ::syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &wanted, sizeof wanted) == 0;
}

void attach_mount(int tree, int directory, const std::string& path, const std::string& step)
{
    const unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | (path.empty() ? MOVE_MOUNT_T_EMPTY_PATH : 0);
    check(::syscall(SYS_move_mount, tree, "", directory, path.c_str(), flags), step);
}

unique_fd new_overlay(const std::vector<std::string>& folders, const std::string& step)
{
    const auto context = open_context("overlay", step);
    check(configure(context.get(), FSCONFIG_SET_STRING, "lowerdir", joined_folders(folders).c_str()), step);
    return finish(context, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, step);
}

unique_fd new_writable_overlay(const writable_overlay& of, const std::string& step)
{
    const auto context = open_context("overlay", step);
    const std::string lower = joined_folders(of.lower);
    for (const auto& [key, value] : {std::pair{"lowerdir", &lower}, {"upperdir", &of.upper}, {"workdir", &of.work}})
        check(configure(context.get(), FSCONFIG_SET_STRING, key, value->c_str()), step);
    check(configure(context.get(), FSCONFIG_SET_FLAG, "userxattr", nullptr), step);
    return finish(context, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, step);
}

unique_fd new_tmpfs(const tmpfs_options& options, std::uint64_t attributes, const std::string& step)
{
    const auto context = open_context("tmpfs", step);
    const std::string size = std::to_string(options.size);
    const std::string inodes = std::to_string(options.inodes);
    check(configure(context.get(), FSCONFIG_SET_STRING, "size", size.c_str()), step);
    check(configure(context.get(), FSCONFIG_SET_STRING, "nr_inodes", inodes.c_str()), step);
    check(configure(context.get(), FSCONFIG_SET_STRING, "mode", options.mode.c_str()), step);
    return finish(context, attributes, step);
}

unique_fd mount_memory(int root, const std::string& path, std::uint64_t size, std::uint64_t files,
                       std::uint64_t attributes)
{
    const std::string step = "mount " + path;
    auto memory = new_tmpfs({size, std::max(files, size / 4096), "1777"}, attributes, step);
    attach_mount(memory.get(), root, path.substr(1), step);
    return memory;
}

// All terminals of the machine count against one limit of the kernel, a few thousand.
void mount_terminals(int root)
{
    const std::string step = "mount /dev/pts";
    const auto context = open_context("devpts", step);
    for (const auto& [key, value] : {std::pair{"mode", "0600"}, {"ptmxmode", "0666"}, {"max", "24"}})
        check(configure(context.get(), FSCONFIG_SET_STRING, key, value), step);
    const auto terminals = finish(context, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, step);
    attach_mount(terminals.get(), root, "dev/pts", step);
}

proc_mount new_proc(proc_options options)
{
    auto context = open_context("proc", proc_step);
    const auto set = [&](const char* key, const char* value) {
        check(configure(context.get(), FSCONFIG_SET_STRING, key, value), proc_step);
    };
    if (options.processes_only) set("subset", "pid");
    if (options.traceable_only) set("hidepid", "invisible");
    auto mount = finish(context, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, proc_step);
    return {std::move(mount), std::move(context)};
}

void show_processes_only(const proc_mount& proc)
{
    check(configure(proc.context.get(), FSCONFIG_SET_STRING, "subset", "pid"), proc_step);
    check(configure(proc.context.get(), FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr), proc_step);
    for (const char* setting : {"version", "kallsyms", "keys"})
        if (::faccessat(proc.mount.get(), setting, F_OK, 0) == 0 || errno != ENOENT)
            throw step_failed(proc_step, ENOTSUP);
}

void detach_mounts(const std::string& path) { ::umount2(path.c_str(), detach_flag); }

void follow_outside_mounts() { check(::mount(nullptr, "/", nullptr, recursive_slave, nullptr), "mount namespace"); }

void keep_mounts_private(const std::string& below)
{
    check(::mount(nullptr, below.c_str(), nullptr, recursive_private, nullptr), "mount namespace");
}

std::string stage_folder()
{
    for (const char* candidate : {"/dev/pts", "/dev/mqueue", "/media", "/mnt", "/srv"})
        if (std::filesystem::is_directory(candidate)) return candidate;
    throw step_failed("find a mount point for a new root", ENOENT);
}

void enter_root(int root)
{
    check(::fchdir(root), "enter the new root");
    check(::syscall(SYS_pivot_root, ".", "."), "pivot_root");
    check(::umount2(".", detach_flag), "leave the old root");
    check(::chdir("/"), "enter the new root");
}

}  // namespace cmcp::sandbox
