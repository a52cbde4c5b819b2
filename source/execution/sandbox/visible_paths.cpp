#include "sandbox/visible_paths.hpp"

#include "facilities/mounts.hpp"
#include "facilities/namespaces.hpp"
#include "facilities/setup_step.hpp"
#include "jail/tree_builder.hpp"
#include "posix/bytes.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;  // as the kernel follows on one way

bool is_in(const std::string& path, const std::string& folder)
{
    return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

/// A path as it lies on the disk, and the links that lead there from the name that it has.
struct resolved_path {
    std::string path;
    std::vector<std::pair<std::string, std::string>> links;  // where, and what it says
};

// Nothing: it is not there, or not for this user.
std::optional<resolved_path> find(const std::string& name)
{
    resolved_path resolved;
    std::vector<std::string> ahead;  // the next component is the last one
    const auto go_on_with = [&](const fs::path& path) {
        std::vector<std::string> parts;
        for (const auto& part : path)
            if (part != "/" && part != "." && !part.empty()) parts.push_back(part.string());
        ahead.insert(ahead.end(), parts.rbegin(), parts.rend());
    };
    go_on_with(fs::absolute(name));
    while (!ahead.empty()) {
        const std::string part = std::move(ahead.back());
        ahead.pop_back();
        if (part == "..") {
            resolved.path.erase(std::min(resolved.path.rfind('/'), resolved.path.size()));
            continue;
        }
        const std::string next = resolved.path + "/" + part;
        struct stat status {};
        if (::lstat(next.c_str(), &status) != 0) return std::nullopt;
        if (!S_ISLNK(status.st_mode)) {
            resolved.path = next;
            continue;
        }
        if (resolved.links.size() == most_links) return std::nullopt;
        const fs::path target = fs::read_symlink(next);
        resolved.links.emplace_back(next, target.string());
        if (target.is_absolute()) resolved.path.clear();
        go_on_with(target);
    }
    return resolved;
}

/// The content of the new root. Sorted by path, so a folder comes before what lies in it.
struct new_root {
    std::map<std::string, bool> paths;  // to write to?
    std::vector<std::pair<std::string, std::string>> links;

    void add(const std::vector<std::string>& names, bool writable)
    {
        for (const auto& name : names) {
            auto real = find(name);
            if (!real) continue;
            if (real->path.empty()) throw step_failed("the folder / is one of its paths, with all below it", 0);
            std::move(real->links.begin(), real->links.end(), std::back_inserter(links));
            bool& may_write = paths[real->path];
            may_write = may_write || writable;
        }
    }
    // Whether a folder around it has all that it needs.
    bool is_covered(const std::string& path, bool writable) const
    {
        return std::any_of(paths.begin(), paths.end(), [&](const auto& other) {
            return other.first != path && is_in(path, other.first) && (other.second || !writable);
        });
    }
};

std::uint64_t attributes_of(const std::string& path, bool writable)
{
    struct stat status {};
    check(::stat(path.c_str(), &status), "find " + path);
    const bool has_devices = is_in(path, "/dev") || S_ISCHR(status.st_mode);
    return MOUNT_ATTR_NOSUID | (has_devices ? 0 : MOUNT_ATTR_NODEV) |
           (writable ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_RDONLY);
}

// The working folder is there even where it is not visible, because names in the settings may be relative to it.
void build_root(const new_root& wanted, const std::string& working_folder)
{
    constexpr std::uint64_t own_bytes = 4 << 20, own_files = 4096;
    const auto stage = new_tmpfs({own_bytes, own_files, "755"}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, "make a root");
    attach_mount(stage.get(), AT_FDCWD, stage_folder(), "mount a root");
    tree_builder tree(unique_fd(check(::fcntl(stage.get(), F_DUPFD_CLOEXEC, 3), "make a root")));
    for (const auto& [path, target] : wanted.links) tree.link(path, target);
    for (const auto& [path, writable] : wanted.paths) {
        if (wanted.is_covered(path, writable)) continue;
        tree.bind(path, path, attributes_of(path, writable));
        if (!writable) keep_mounts_private(stage_folder() + path);
    }
    tree.folder(working_folder);
    set_mount_attributes(stage.get(), MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, false, "protect the root");
    enter_root(stage.get());
    check(::chdir(working_folder.c_str()), "enter the working folder");
}

/// Folders that are open lead to all that is beside them on their disk, whatever the root is: ".." ends at the root of
/// the process or of the disk, and they were opened before there was this root.
class open_folders {
public:
    open_folders()
    {
        std::error_code failure;
        for (fs::directory_iterator each("/proc/self/fd", failure), end; !failure && each != end;
             each.increment(failure)) {
            const int number = std::stoi(each->path().filename());
            struct stat status {};
            if (::fstat(number, &status) == 0 && S_ISDIR(status.st_mode))
                all_.emplace_back(number, fs::read_symlink(each->path(), failure));
        }
        if (failure) throw step_failed("list the open folders", failure.value());
    }

    void open_anew() const
    {
        for (const auto& [number, path] : all_) {
            struct stat before {
            }, after{};
            const int flags = ::fcntl(number, F_GETFD);
            if (flags < 0 || ::fstat(number, &before) != 0) continue;  // the listing's own
            const int access = check(::fcntl(number, F_GETFL), "open a folder anew");
            unique_fd fresh(::open(path.c_str(), O_DIRECTORY | O_CLOEXEC | (access & O_PATH)));
            if (!fresh || ::fstat(fresh.get(), &after) != 0 || after.st_ino != before.st_ino ||
                after.st_dev != before.st_dev)
                fresh.reset(check(::open("/dev/null", O_PATH | O_CLOEXEC), "open a folder anew"));
            check(::dup3(fresh.get(), number, (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0), "open a folder anew");
        }
    }

private:
    std::vector<std::pair<int, fs::path>> all_;
};

// All ids that this process has, as themselves.
std::string all_ids(const char* map)
{
    std::ifstream lines(map);
    std::string all;
    for (std::uint64_t inside, outside, count; lines >> inside >> outside >> count;)
        all += std::to_string(inside) + ' ' + std::to_string(inside) + ' ' + std::to_string(count) + '\n';
    return all;
}

void write_whole(const std::string& file, const std::string& text)
{
    const unique_fd to(check(::open(file.c_str(), O_WRONLY | O_CLOEXEC), "id map"));
    if (!write_all(to.get(), text)) throw step_failed("id map");
}

// Root without the right to mount, as in a container: in a user namespace it has that right. A process that stays
// outside gives it all ids.
void enter_user_namespace_of_root()
{
    const auto users = all_ids("/proc/self/uid_map"), groups = all_ids("/proc/self/gid_map");
    auto there = make_pipe(), back = make_pipe();
    auto &reading = there.first, &writing = there.second;
    auto &answered = back.first, &answer_end = back.second;
    if (!reading || !answered) throw step_failed("id map");
    const std::string process = "/proc/" + std::to_string(::getpid());
    const pid_t writer = check(::fork(), "id map");
    if (writer == 0)
        live_and_end([&] {
            writing.reset();
            answered.reset();
            char ready = 0;
            if (::read(reading.get(), &ready, 1) != 1) return;
            write_whole(process + "/uid_map", users);
            write_whole(process + "/gid_map", groups);
            write_all(answer_end.get(), "w");
        });
    answer_end.reset();
    const bool moved = ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    const int error = errno;
    if (moved) write_all(writing.get(), "m");
    writing.reset();
    char written = 0;
    const bool mapped = moved && ::read(answered.get(), &written, 1) == 1;
    ::waitpid(writer, nullptr, 0);
    if (!moved) throw step_failed("user namespace", error);
    if (!mapped) throw step_failed("id map", EPERM);
}

void enter_namespaces()
{
    const id_pair self{::geteuid(), ::getegid()};
    if (self.user == 0 && ::unshare(CLONE_NEWNS) == 0) return;
    const int dumpable = ::prctl(PR_GET_DUMPABLE);
    if (self.user == 0) {
        enter_user_namespace_of_root();
    } else {
        check(::unshare(CLONE_NEWUSER | CLONE_NEWNS), "user namespace");
        check(::prctl(PR_SET_DUMPABLE, 1), "id map");  // else its files in /proc are root's
        write_id_maps("self", self, self, true);
    }
    check(::prctl(PR_SET_DUMPABLE, dumpable == 1 ? 1 : 0), "id map");
}

void enter(const landlock_rules& visible)
{
    new_root wanted;
    wanted.add(visible.read_write, true);
    wanted.add(visible.read_only, false);
    std::error_code removed;
    const auto here = fs::current_path(removed);
    const std::string working_folder = removed ? "/" : here.string();
    const open_folders folders;
    enter_namespaces();
    follow_outside_mounts();
    build_root(wanted, working_folder);
    folders.open_anew();
}

std::string why_not(const std::exception& failure)
{
    const int error = error_of(failure);
    return std::string(failure.what()) + (error == 0 ? "" : std::string(": ") + std::strerror(error));
}

// A process that was moved half cannot go back, so a child tries first.
std::string try_in_child(const landlock_rules& visible)
{
    auto [reading, writing] = make_pipe();
    if (!reading) return std::strerror(errno);
    const pid_t child = ::fork();
    if (child < 0) return std::strerror(errno);
    if (child == 0) {
        reading.reset();
        try {
            enter(visible);
            write_all(writing.get(), "+");
        } catch (const std::exception& failure) {
            write_all(writing.get(), why_not(failure));
        }
        ::_exit(0);
    }
    writing.reset();
    std::string answer;
    char part[512];
    for (ssize_t count = 0; (count = ::read(reading.get(), part, sizeof part)) > 0 || (count < 0 && errno == EINTR);)
        if (count > 0) answer.append(part, static_cast<std::size_t>(count));
    ::waitpid(child, nullptr, 0);
    if (answer == "+") return {};
    return answer.empty() ? "the attempt was ended" : answer;
}

}  // namespace

std::string show_only(const landlock_rules& visible)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return "a build with a sanitizer needs more files";
#else
    if (std::string why = try_in_child(visible); !why.empty()) return why;
    enter(visible);
    return {};
#endif
}

}  // namespace cmcp::sandbox
