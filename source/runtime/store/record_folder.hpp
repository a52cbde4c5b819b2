#pragma once

#include "posix/unique_fd.hpp"

#include <filesystem>

namespace cmcp {

/// The folder with the records of sandboxes and jobs. Several processes may use it at the same time.
class record_folder {
public:
    /// Makes the folder where it is not there. Throws std::system_error.
    explicit record_folder(std::filesystem::path path);

    /// True until share() when no other process uses the folder: then everything that no record names is a leftover.
    bool alone() const { return alone_; }
    void share();  ///< lets other processes in

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path database() const { return path_ / "sandboxes.sqlite"; }

private:
    std::filesystem::path path_;
    unique_fd lock_;
    bool alone_ = false;
};

}  // namespace cmcp
