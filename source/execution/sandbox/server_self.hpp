#pragma once

#include "facilities/landlock.hpp"
#include "probe/layer.hpp"

namespace cmcp::sandbox {

/// Confines the calling thread and those that it makes for good: no program can be executed, no process made, no file
/// opened but by `allowed`, no set-uid file made and no privilege gained; root keeps the capabilities alone with which
/// it gives files to users. After show_only() (visible_paths.hpp), which takes other files' metadata out of reach,
/// after the launcher was started and before the first thread. The layer "server_self" says how far that is in force,
/// by trying.
layer confine_server(const landlock_rules& allowed);

}  // namespace cmcp::sandbox
