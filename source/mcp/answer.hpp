#pragma once

#include "mcp/message_sink.hpp"
#include "mcp/running_request.hpp"

namespace cmcp {

/// The response of a request: its result or its error.
outgoing answer_of(const json::value& id, const outcome& done);
outgoing answer_of(const json::value& id, const rpc_error& error);

}  // namespace cmcp
