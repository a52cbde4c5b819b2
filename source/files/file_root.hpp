#pragma once

#include "files/file_path.hpp"
#include "posix/unique_fd.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace cmcp {

/// An open folder that nothing leads out of: every path is resolved by the kernel beneath it (openat2 with
/// RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS), so that symbolic links, "..", and changes made meanwhile cannot escape.
class file_root {
public:
    explicit file_root(const std::filesystem::path& folder);  ///< throws std::system_error

    /// Throws file_error. O_CLOEXEC, O_NONBLOCK and O_NOCTTY are added, so that it never blocks.
    unique_fd open(const file_path& path, int flags) const;

    /// The same for plain text, beneath `folder`; without a descriptor `errno` says why. EAGAIN, which the kernel gives
    /// while folders are renamed, is retried some times.
    static unique_fd open_beneath(int folder, const std::string& relative, int flags);

    /// Opens for reading; throws file_error for anything but a regular file, without opening FIFOs or devices.
    unique_fd open_regular(const file_path& path) const;

    /// The folder that holds the path's last component.
    unique_fd open_parent(const file_path& path) const;

    /// The same; makes the folders that are missing. Of a path that begins with a slash the first folder must exist:
    /// such a path was most often meant for the host (`/etc/…`, `/tmp/…`).
    unique_fd make_parent(const file_path& path) const;

    /// Gives a file that was made here to the owner of the root, when this process may.
    void adopt(int fd) const;

    int descriptor() const { return folder_.get(); }
    uid_t owner() const { return owner_; }

private:
    void make_folder(int parent, const std::string& name) const;

    unique_fd folder_;
    uid_t owner_ = 0;
    gid_t group_ = 0;
};

/// The last change of the content, in seconds since 1970.
inline double modified_of(const struct stat& status)
{
    return static_cast<double>(status.st_mtim.tv_sec) + 1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
}

}  // namespace cmcp
