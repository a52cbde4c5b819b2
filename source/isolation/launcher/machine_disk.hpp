#pragma once

#include "facilities/namespaces.hpp"
#include "launcher/view_store.hpp"
#include "posix/unique_fd.hpp"

#include <optional>
#include <vector>

namespace cmcp::sandbox {

/// A detached mount of the folder in which a machine's changed files are (machine_folder), in its workspace. What is
/// missing is made, for `owner` where one is given, and else as the launcher's own. Follows no links. Throws
/// step_failed.
unique_fd open_machine_disk(int workspace, std::optional<id_pair> owner, const std::vector<shown_layer>& layers);

}  // namespace cmcp::sandbox
