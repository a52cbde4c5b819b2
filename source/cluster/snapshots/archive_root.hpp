#pragma once

namespace cmcp::snapshots {

/// The path of the folder in its archive. It is the same in all snapshots, so that equal files have equal chunks; below
/// it archives may have links (backup::user_tree).
inline constexpr const char* archive_root = "root/workspace";

}  // namespace cmcp::snapshots
