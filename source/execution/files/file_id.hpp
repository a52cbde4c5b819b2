#pragma once

#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace cmcp {

/// Tells files and folders of this machine apart.
struct file_id {
    explicit file_id(const struct stat& of) : device(of.st_dev), inode(of.st_ino) {}

    /// Of an open file; of no file when it cannot be looked at.
    static file_id of(int fd)
    {
        struct stat status {};
        ::fstat(fd, &status);
        return file_id(status);
    }

    auto operator<=>(const file_id&) const = default;

    dev_t device;
    ino_t inode;
};

/// Opens the folder above the open folder `below`. Empty with errno; EBUSY: that folder is not `known`, because the one
/// below was moved, and its entries would be those of strangers.
inline unique_fd open_above(int below, const file_id& known, int flags)
{
    unique_fd above(::openat(below, "..", flags | O_DIRECTORY | O_CLOEXEC));
    if (!above || file_id::of(above.get()) == known) return above;
    above.reset();
    errno = EBUSY;
    return above;
}

}  // namespace cmcp
