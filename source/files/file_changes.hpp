#pragma once

#include "files/file_manager.hpp"
#include "files/file_root.hpp"

namespace cmcp {

// What changes a workspace. All act on the entry that a path's last component names: a symbolic link itself, never what
// it points to. All throw file_error.

/// Atomic: the new file takes the place of the old one (whose mode it keeps) in one step. Folders that are missing are
/// made. Refused: folders, FIFOs, sockets, devices, links that lead out of the root, files that are read-only.
void write_file(const file_root& root, const file_policy& policy, const file_write_request& what);

/// Removes a file, a link, a FIFO or a socket; folders are refused.
void delete_file(const file_root& root, const file_policy& policy, const file_path& path);

/// Renames a file, a link or a folder; an existing destination is replaced only by a file and only with `overwrite`.
void move_file(const file_root& root, const file_policy& policy, const file_move_request& what);

}  // namespace cmcp
