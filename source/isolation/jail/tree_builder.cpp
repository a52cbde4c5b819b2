#include "jail/tree_builder.hpp"

#include "facilities/mounts.hpp"
#include "facilities/setup_step.hpp"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cmcp::sandbox {
namespace {

std::string folder_of(const std::string& path)
{
    const auto slash = path.rfind('/');
    return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string target_of(int directory, const std::string& name)
{
    char target[PATH_MAX];
    const ssize_t length = ::readlinkat(directory, name.c_str(), target, sizeof target);
    return length > 0 ? std::string(target, static_cast<std::size_t>(length)) : std::string();
}

void copy_content(int from, int to, const std::string& step)
{
    while (check(::sendfile(to, from, nullptr, 1 << 30), step) > 0) {
    }
}

}  // namespace

unique_fd tree_builder::open_inside(const std::string& path, int flags) const
{
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    return unique_fd(static_cast<int>(::syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof how)));
}

unique_fd tree_builder::parent_of(const std::string& path)
{
    const std::string above = folder_of(path);
    unique_fd parent = open_inside(above, O_PATH | O_DIRECTORY);
    if (!parent) {
        folder(above);
        parent = open_inside(above, O_PATH | O_DIRECTORY);
    }
    if (!parent) throw step_failed("make " + above);
    return parent;
}

bool tree_builder::exists(const std::string& path) const { return static_cast<bool>(open_inside(path, O_PATH)); }

void tree_builder::give(const std::string& path, id_pair to)
{
    const auto it = open_inside(path, O_PATH | O_NOFOLLOW);
    if (!it || ::fchownat(it.get(), "", to.user, to.group, AT_EMPTY_PATH) != 0) throw step_failed("give " + path);
}

void tree_builder::folder(const std::string& path, unsigned mode)
{
    if (path == "/" || open_inside(path, O_PATH | O_DIRECTORY)) return;
    const auto parent = parent_of(path);
    if (::mkdirat(parent.get(), name_of(path).c_str(), mode) == 0) return;
    if (errno != EEXIST) throw step_failed("make " + path);
    // A link that leads nowhere yet: make what it names.
    const std::string target = target_of(parent.get(), name_of(path));
    if (target.empty()) throw step_failed("make " + path, ENOTDIR);
    folder(target.starts_with('/') ? target : folder_of(path) + "/" + target, mode);
}

void tree_builder::file(const std::string& path, std::string_view content, unsigned mode)
{
    if (exists(path)) return;
    const std::string step = "make " + path;
    const auto parent = parent_of(path);
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    const unique_fd file(check(::openat(parent.get(), name_of(path).c_str(), flags, mode), step));
    check(::write(file.get(), content.data(), content.size()), step);
}

void tree_builder::link(const std::string& path, const std::string& target)
{
    const auto parent = parent_of(path);
    if (::symlinkat(target.c_str(), parent.get(), name_of(path).c_str()) != 0 && errno != EEXIST)
        throw step_failed("link " + path);
}

void tree_builder::bind(const std::string& source, const std::string& path, std::uint64_t attributes)
{
    struct stat status {};
    check(::stat(source.c_str(), &status), "find " + source);
    if (S_ISDIR(status.st_mode))
        folder(path);
    else
        file(path, "");
    const auto tree = copy_mount_tree(AT_FDCWD, from_ ? from_(source) : source, "show " + source);
    set_mount_attributes(tree.get(), attributes, true, "protect " + source);
    const auto target = open_inside(path, O_PATH);
    if (!target) throw step_failed("find " + path);
    attach_mount(tree.get(), target.get(), "", "mount " + path);
}

void tree_builder::copy(const std::string& source, const std::string& path)
{
    if (exists(path)) return;
    const std::string step = "copy " + source;
    const unique_fd from(check(::open(source.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), step));
    struct stat status {};
    check(::fstat(from.get(), &status), step);
    const unsigned mode = (status.st_mode & 0111) != 0 ? 0755 : 0644;
    const auto parent = parent_of(path);
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    const unique_fd to(check(::openat(parent.get(), name_of(path).c_str(), flags, mode), step));
    copy_content(from.get(), to.get(), step);
}

}  // namespace cmcp::sandbox
