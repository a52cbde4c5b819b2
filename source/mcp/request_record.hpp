#pragma once

#include "mcp/running_request.hpp"

#include <chrono>

namespace cmcp {

/// Counts, logs and traces the end of a request. One line in the log: `tool_call` at INFO, whatever transport and
/// revision brought it, `task_ended` for a call that went on as a task, `mcp_request` at DEBUG for other methods.
/// Arguments and content are left out.
void record_end(const running_request& request, const outcome& done, std::chrono::steady_clock::time_point began);

/// Logs a tool call that was refused before it became a running request.
void record_refusal(const running_request& request, const rpc_error& why);

}  // namespace cmcp
