#pragma once

#include "wire/run_request.hpp"

#include <string>

#include <sys/types.h>

namespace cmcp::engine {

/// Gives what the calling process owns in a folder tree to `owner`, so that a container that runs under that id can
/// work on what the server wrote. Follows no links and enters no other file system. What goes away meanwhile is left
/// out; throws std::system_error when the folder itself cannot be given away.
void give_files(const std::string& folder, uid_t owner);

/// The sentence for a workspace that holds more than `limits` allow; empty: it does not.
std::string workspace_excess(const std::string& folder, const sandbox::run_limits& limits);

}  // namespace cmcp::engine
