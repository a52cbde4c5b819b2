#pragma once

#include "jail/landlock.hpp"
#include "jail/layer.hpp"

namespace cmcp::sandbox {

/// Confines the calling process for good: no program can be executed, no process made, no file reached but by `places`,
/// and no privilege gained. Call it after the launcher was started and before the first thread. The layer "server_self"
/// says how far that is in force, by trying.
layer confine_server(const landlock_rules& places);

}  // namespace cmcp::sandbox
