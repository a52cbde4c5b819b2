#pragma once

#include "files/file_path.hpp"
#include "files/owner_rights.hpp"
#include "posix/unique_fd.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace cmcp {

/// An open folder that nothing leads out of: every path is resolved by the kernel beneath it (openat2 with
/// RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS), so that symbolic links, "..", and changes made meanwhile cannot escape.
/// Its thread acts with the rights of the folder's owner until the end (owner_rights), so nothing is awaited meanwhile.
class file_root {
public:
    explicit file_root(const std::filesystem::path& folder);  ///< throws std::system_error
    file_root(const file_root&) = delete;
    file_root& operator=(const file_root&) = delete;

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

    int descriptor() const { return folder_.get(); }
    file_owner owner() const { return owner_; }

private:
    unique_fd folder_;
    file_owner owner_;
    owner_rights rights_;
};

/// The last change of the content, in seconds since 1970.
inline double modified_of(const struct stat& status)
{
    return static_cast<double>(status.st_mtim.tv_sec) + 1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
}

}  // namespace cmcp
