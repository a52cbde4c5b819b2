#pragma once

#include "async/sliced_work.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cmcp {

// Work on whole trees takes long and blocks on the disk: it is done slice by slice (blocking_pool::run_long), with few
// descriptors and little stack however deep a tree is.

/// Copies a folder with all that is in it into `to`, which must exist and be empty: regular files (sharing their blocks
/// where the file system can), folders and symbolic links, with modes, times and users' extended attributes; files of
/// several names stay one file, and the whiteouts of overlays are copied. FIFOs, sockets and devices are left out.
/// Follows no link of the source, which may change meanwhile. Gives the bytes that the copy takes on the disk. Throws
/// std::system_error, which names a folder or file that cannot be read or was moved meanwhile.
sliced_work<std::uint64_t> copy_tree(std::filesystem::path from, std::filesystem::path to);

/// Removes a file, or a folder with all that is in it; follows no symbolic link. Nothing when it does not exist. What
/// cannot be removed is left; gives whether all is gone.
sliced_work<bool> remove_tree(std::filesystem::path folder);

/// The files of a workspace at one moment, to tell which were changed. Follows no links, looks at a bounded number of
/// entries. Packages, virtual environments, caches and stored outputs (.local, .cache, .outputs, .kernel, __pycache__,
/// node_modules, …) are left out.
struct tree_scan {
    struct stamp {
        std::uint64_t inode = 0;
        std::uint64_t size = 0;
        std::int64_t modified = 0;  ///< ns
        std::int64_t changed = 0;   ///< ns, of the inode
        auto operator<=>(const stamp&) const = default;
    };
    std::map<std::string, stamp> files;  ///< regular files by path relative to the workspace
    std::uint64_t bytes = 0;             ///< that they take on the disk
    bool cut = false;                    ///< there are more than were looked at
};

sliced_work<tree_scan> scan_tree(std::filesystem::path workspace);

/// The files that a run made or changed.
struct changed_paths {
    std::vector<std::string> paths;  ///< sorted; those that changed last, where there are too many
    std::size_t left_out = 0;        ///< how many more there are
};

/// Paths that are new in `after` or not as they were; at most `most`.
changed_paths changed_files(const tree_scan& before, const tree_scan& after, std::size_t most);

/// More than any quota: for a folder of which not all can be seen, so that nothing more is written there.
inline constexpr std::uint64_t unmeasured = std::uint64_t{1} << 50;

/// A write of a larger part of a quota than a 16th measures first, because others write meanwhile.
inline constexpr std::uint64_t unmeasured_part = 16;

/// Bytes that a folder takes on the disk; hard links count once. `unmeasured` where a folder cannot be read, was moved
/// meanwhile, or there are more than 5,000,000 entries.
sliced_work<std::uint64_t> disk_usage(std::filesystem::path folder);

}  // namespace cmcp
