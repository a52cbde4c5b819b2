#pragma once

#include <sys/stat.h>

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

}  // namespace cmcp
