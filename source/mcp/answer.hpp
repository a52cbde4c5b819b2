#pragma once

#include "async/asio.hpp"
#include "mcp/message_sink.hpp"
#include "mcp/running_request.hpp"

#include <memory>

namespace cmcp {

/// Sends the response of a request: its result or its error.
awaitable<> send_answer(std::shared_ptr<message_sink> reply, json::value id, outcome done);

}  // namespace cmcp
