#pragma once

#include <filesystem>

namespace cmcp {

/// Copies a folder with all that is in it into `to`, which must exist and be empty: regular files (sharing their blocks
/// where the file system can), folders and symbolic links, with modes and times; FIFOs, sockets and devices are left
/// out. Follows no link of the source, which may change meanwhile. Throws std::system_error. Blocks on the disk.
void copy_tree(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace cmcp
