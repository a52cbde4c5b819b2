#pragma once

#include "mcp/server_core.hpp"

#include <vector>

namespace cmcp {

/// Starts the messages of a batch, a few in each turn of the loop: others have theirs in between.
awaitable<> start_in_turns(server_core& core, std::vector<jsonrpc::message> messages, peer from);

}  // namespace cmcp
