#include "local/local_root.hpp"

#include "facilities/mounts.hpp"
#include "facilities/setup_step.hpp"
#include "jail/tree_builder.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t harmless = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr const char* devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"};
constexpr const char* own_memory = "/dev/.own";

std::uint64_t half_of_memory()
{
    struct sysinfo machine {};
    return ::sysinfo(&machine) == 0 ? machine.totalram * machine.mem_unit / 2 : std::uint64_t{1} << 30;
}

/// Mounts one folder after the other upon a copy of the machine's.
class root_maker {
public:
    explicit root_maker(const local_root_plan& plan)
        : plan_(plan),
          root_(copy_machine()),
          tree_(unique_fd(check(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 3), "copy /")))
    {
    }

    local_root make()
    {
        show_own_folders();
        for (const file_rule& rule : plan_.rules->all()) show(rule);
        check(::fchmodat(root_.get(), std::string(own_memory).substr(1).c_str(), 0, 0), "close /dev");
        for (const auto& [mount, path] : finished_)
            set_mount_attributes(mount.get(), MOUNT_ATTR_RDONLY | harmless, false, "protect " + path);
        const bool has_proc = show_processes();
        enter_root(root_.get());
        check(::chdir(plan_.working.c_str()), "working folder " + plan_.working);
        return {file_systems(), has_proc};
    }

private:
    // Mounted where nothing that it shows is looked for.
    static unique_fd copy_machine()
    {
        keep_mounts_private();
        unique_fd root = copy_mount_tree(AT_FDCWD, "/", "copy /");
        set_mount_attributes(root.get(), MOUNT_ATTR_RDONLY | harmless, true, "protect /");
        attach_mount(root.get(), AT_FDCWD, stage_folder(), "mount the root");
        return root;
    }

    void attach(const unique_fd& mount, const std::string& path) const
    {
        attach_mount(mount.get(), root_.get(), path.substr(1), "mount " + path);
    }

    unique_fd read_only_copy(const std::string& path) const
    {
        unique_fd copy = copy_mount(root_.get(), path.substr(1), "show " + path);
        set_mount_attributes(copy.get(), MOUNT_ATTR_RDONLY | harmless, false, "protect " + path);
        return copy;
    }

    // All folders of the sandbox's own lie in one file system in memory, at a place that nobody may enter.
    void make_own_memory()
    {
        unique_fd memory = new_tmpfs({half_of_memory(), 1 << 20, "755"}, harmless, "mount /dev");
        attach(memory, "/dev");
        for (const char* folder : {"", "/shm", "/tmp", "/var-tmp", "/nothing"})
            tree_.folder(std::string(own_memory) + folder);
        for (const char* folder : {"/shm", "/tmp", "/var-tmp"})
            check(::fchmodat(root_.get(), (std::string(own_memory).substr(1) + folder).c_str(), 01777, 0), "make /tmp");
        check(::fchmodat(root_.get(), (std::string(own_memory).substr(1) + "/nothing").c_str(), 0, 0), "make /tmp");
        tree_.file(std::string(own_memory) + "/hidden", "", 0);
        finished_.emplace_back(std::move(memory), "/dev");
    }

    unique_fd own_folder(const std::string& name) const
    {
        return copy_mount(root_.get(), std::string(own_memory).substr(1) + "/" + name, "show " + name);
    }

    // What is put into it comes before it is protected.
    void cover(const std::string& path)
    {
        const std::string name = std::to_string(finished_.size());
        tree_.folder(std::string(own_memory) + "/" + name);
        unique_fd folder = own_folder(name);
        attach(folder, path);
        finished_.emplace_back(std::move(folder), path);
    }

    void show_own_folders()
    {
        make_own_memory();
        for (const char* path : devices) tree_.bind(path, path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
        tree_.folder("/dev/pts");
        tree_.folder("/dev/shm");
        mount_terminals(root_.get());
        tree_.link("/dev/ptmx", "pts/ptmx");
        tree_.link("/dev/fd", "/proc/self/fd");
        for (const auto& [name, number] : {std::pair{"stdin", "0"}, {"stdout", "1"}, {"stderr", "2"}})
            tree_.link(std::string("/dev/") + name, std::string("/proc/self/fd/") + number);
        for (const auto& [path, name] : {std::pair{"/dev/shm", "shm"}, {"/tmp", "tmp"}, {"/var/tmp", "var-tmp"}})
            if (tree_.exists(path)) attach(own_folder(name), path);
        if (tree_.exists("/run")) cover("/run");
        name_resolver();
    }

    // Often a link to a file of /run, and then a file of its own there.
    void name_resolver()
    {
        std::error_code absent;
        const fs::path real = fs::weakly_canonical("/etc/resolv.conf", absent);
        if (absent || fs::symlink_status("/etc/resolv.conf", absent).type() == fs::file_type::not_found) return;
        if (real.string().starts_with("/run/")) return tree_.file(real.string(), local_resolver);
        if (!fs::exists(real, absent)) return;
        const std::string own = std::string(own_memory) + "/resolv.conf";
        tree_.file(own, local_resolver);
        attach(read_only_copy(own), real.string());
    }

    void show(const file_rule& rule)
    {
        constexpr std::uint64_t read_only = MOUNT_ATTR_RDONLY | harmless;
        const access_to_files above = plan_.rules->access(fs::path(rule.path).parent_path().string());
        const bool is_there = above >= access_to_files::readable;
        if (rule.access == access_to_files::hidden && is_there) hide(rule);
        if (rule.access == access_to_files::readable && above != access_to_files::readable)
            tree_.bind(rule.path, rule.path, read_only);
        if (rule.access == access_to_files::writable) tree_.bind(rule.path, rule.path, harmless);
        if (rule.access == access_to_files::guarded) tree_.bind(rule.path, rule.path, read_only);
    }

    // A folder with nothing in it that is shown says that it is forbidden, and not that it is empty.
    void hide(const file_rule& rule)
    {
        const std::string below = rule.path + "/";
        const auto lies_below = [&](const file_rule& each) {
            return each.path.starts_with(below) && each.access >= access_to_files::readable;
        };
        if (rule.is_folder && std::ranges::any_of(plan_.rules->all(), lies_below)) return cover(rule.path);
        attach(read_only_copy(std::string(own_memory) + (rule.is_folder ? "/nothing" : "/hidden")), rule.path);
    }

    // In a container with a masked /proc the kernel refuses a new one; programs then have none.
    bool show_processes() const
    {
        try {
            attach(new_proc({}).mount, "/proc");
        } catch (const step_failed& refused) {
            if (refused.error != EPERM) throw;
            attach(new_tmpfs({4096, 1, "755"}, MOUNT_ATTR_RDONLY | harmless, "cover /proc"), "/proc");
            return false;
        }
        if (plan_.guards_proc)
            for (const char* name :
                 {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi"})
                guard_of_proc(name);
        return true;
    }

    void guard_of_proc(const std::string& path) const
    {
        if (!tree_.exists(path)) return;
        const unique_fd copy = copy_mount_tree(root_.get(), path.substr(1), "protect " + path);
        set_mount_attributes(copy.get(), MOUNT_ATTR_RDONLY | harmless | MOUNT_ATTR_NOEXEC, true, "protect " + path);
        attach(copy, path);
    }

    static std::vector<dev_t> file_systems()
    {
        std::vector<dev_t> own;
        for (const char* path : {"/tmp", "/dev/shm", "/var/tmp"}) {
            struct stat status {};
            if (::stat(path, &status) == 0) own.push_back(status.st_dev);
        }
        return own;
    }

    const local_root_plan& plan_;
    unique_fd root_;
    tree_builder tree_;
    std::vector<std::pair<unique_fd, std::string>> finished_;
};

}  // namespace

local_root enter_local_root(const local_root_plan& plan) { return root_maker(plan).make(); }

}  // namespace cmcp::sandbox
