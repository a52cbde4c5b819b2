#pragma once

#include "files/file_manager.hpp"
#include "files/file_root.hpp"

namespace cmcp {

/// Reads a file or a part of it. Bounded by the size that the file had when it was opened and by the policy, never by
/// the end of the file. Blocks on the disk only. Throws file_error.
file_content read_file(const file_root& root, const file_policy& policy, const file_read_request& what);

}  // namespace cmcp
