#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cmcp {

/// The files of a workspace at one moment, to tell which were changed. Follows no links, looks at a bounded number of
/// entries. Packages, caches and kept outputs (.local, .cache, .outputs, __pycache__, node_modules) are left
/// out.
struct tree_scan {
    struct stamp {
        std::uint64_t inode = 0;
        std::uint64_t size = 0;
        std::int64_t modified = 0;  ///< ns
        std::int64_t changed = 0;   ///< ns, of the inode
        auto operator<=>(const stamp&) const = default;
    };
    std::map<std::string, stamp> files;  ///< regular files by path relative to the workspace
    bool cut = false;                    ///< there are more than were looked at
};

/// Blocks on the disk.
tree_scan scan_tree(const std::filesystem::path& workspace);

/// Paths that are new in `after` or not as they were, sorted; at most `most`, the latest changed first to stay.
std::vector<std::string> changed_files(const tree_scan& before, const tree_scan& after, std::size_t most);

/// Bytes that a folder takes on the disk; hard links count once. Blocks on the disk.
std::uint64_t disk_usage(const std::filesystem::path& folder);

}  // namespace cmcp
