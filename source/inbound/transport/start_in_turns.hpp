#pragma once

#include "mcp/server_core.hpp"

#include <vector>

namespace cmcp {

/// Starts the messages of a batch, a few in each turn of the loop, and after those of the batches that their caller
/// sent before: others have their turns in between, however many batches there are.
awaitable<> start_in_turns(server_core& core, std::vector<jsonrpc::message> messages, peer from);

}  // namespace cmcp
