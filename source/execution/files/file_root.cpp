#include "files/file_root.hpp"

#include "text/words.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

namespace cmcp {

namespace {

constexpr int tries_while_renamed = 64;
constexpr std::size_t most_new_folders = 64;
constexpr int folder_flags = O_PATH | O_DIRECTORY;

void require_regular(const file_path& path, const struct stat& status)
{
    if (S_ISREG(status.st_mode)) return;
    if (S_ISDIR(status.st_mode)) path.refuse("is a folder; file_list shows what is in it.");
    path.refuse("is not a regular file (a FIFO, socket or device) and is not opened.");
}

struct stat status_of(const file_path& path, int fd)
{
    struct stat status {};
    if (::fstat(fd, &status) != 0) path.fail(errno);
    return status;
}

unique_fd open_root(const std::filesystem::path& folder)
{
    unique_fd opened(::open(folder.c_str(), folder_flags | O_CLOEXEC));
    if (!opened) throw std::system_error(errno, std::generic_category(), folder.string());
    return opened;
}

file_owner owner_of(int folder)
{
    struct stat status {};
    if (::fstat(folder, &status) != 0) throw std::system_error(errno, std::generic_category(), "fstat");
    return file_owner(status);
}

}  // namespace

file_root::file_root(const std::filesystem::path& folder)
    : folder_(open_root(folder)), owner_(owner_of(folder_.get())), rights_(owner_)
{
}

unique_fd file_root::open_beneath(int folder, const std::string& relative, int flags)
{
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
    // With O_PATH nothing is opened that could block, and the kernel refuses flags that do not belong to it.
    if ((flags & O_PATH) == 0) how.flags |= O_NONBLOCK | O_NOCTTY;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    long fd = -1;
    for (int i = 0; i < tries_while_renamed; ++i) {
        fd = ::syscall(SYS_openat2, folder, relative.c_str(), &how, sizeof how);
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
    }
    return unique_fd(static_cast<int>(fd));
}

unique_fd file_root::open(const file_path& path, int flags) const
{
    unique_fd opened = open_beneath(descriptor(), path.relative(), flags);
    if (!opened) path.fail(errno);
    return opened;
}

unique_fd file_root::open_regular(const file_path& path) const
{
    // O_PATH opens nothing: opening a FIFO would wake its writer, and opening a device may do anything.
    const unique_fd seen = open(path, O_PATH);
    require_regular(path, status_of(path, seen.get()));
    unique_fd opened = open(path, O_RDONLY);
    const auto status = status_of(path, opened.get());
    require_regular(path, status);  // the name may mean another file by now
    // A hard link that another user made does not make the file one of this workspace.
    if (status.st_nlink > 1 && status.st_uid != owner_.user) path.refuse("is a hard link to a file of somebody else.");
    return opened;
}

unique_fd file_root::open_parent(const file_path& path) const
{
    unique_fd opened = open_beneath(descriptor(), path.parent(), folder_flags);
    if (!opened) path.fail(errno);
    return opened;
}

unique_fd file_root::make_parent(const file_path& path) const
{
    unique_fd parent = open_beneath(descriptor(), path.parent(), folder_flags);
    if (parent) return parent;
    if (errno != ENOENT) path.fail(errno);
    const std::string above = path.parent();
    auto names = split(above, '/');
    std::erase(names, std::string_view());
    if (std::find(names.begin(), names.end(), "..") != names.end())
        path.refuse("goes up by \"..\" from a folder that does not exist; write the path without it.");

    // Every step begins at the root again, because the new folder may have been swapped for a link.
    parent = open_beneath(descriptor(), ".", folder_flags);
    std::string partial_path;
    std::size_t new_folders = 0;
    for (const auto& name : names) {
        const bool first = partial_path.empty();
        partial_path.append(first ? "" : "/").append(name);
        unique_fd next = open_beneath(descriptor(), partial_path, folder_flags);
        if (!next && errno == ENOENT) {
            if (first && path.absolute())
                path.refuse(
                    "begins with a folder that does not exist: a leading / means the root of the working folder. To "
                    "make the folder there, leave the leading / out. Folders elsewhere, such as /tmp, are a "
                    "command's.");
            if (++new_folders > most_new_folders)
                path.refuse("needs more than 64 new folders; make some of them first.");
            // Where it fails, another process was faster, or opening the folder says why not.
            ::mkdirat(parent.get(), std::string(name).c_str(), 0755);
            next = open_beneath(descriptor(), partial_path, folder_flags);
        }
        if (!next) path.fail(errno);
        parent = std::move(next);
    }
    return parent;
}

}  // namespace cmcp
