#pragma once

#include "mcp/running_request.hpp"

#include <chrono>
#include <string_view>

namespace cmcp {

/// Counts, logs, traces and records the end of a request. One line in the log: `tool_call` at INFO, whatever transport
/// and revision brought it, `task_ended` for a call that went on as a task, `mcp_request` at DEBUG for other methods.
/// Arguments and content are left out; the audit has the digest of the arguments.
void record_end(const running_request& request, const outcome& done, std::chrono::steady_clock::time_point began);

/// The same of a tool call that was refused before it became a running request. `recorded`: in the audit, too.
void record_refusal(const running_request& request, const rpc_error& why, bool recorded = true);

/// Records a request that runs, once, so that the audit knows of it even where the server is killed before its end.
void record_running(running_request& request);

/// Whether requests of this method are in the audit: those that read or change what belongs to a caller.
bool is_recorded(std::string_view method);

}  // namespace cmcp
