#pragma once

#include "mcp/running_request.hpp"

#include <chrono>
#include <string_view>

namespace cmcp {

constexpr std::string_view tool_call_method = "tools/call";

/// One line for a request that has ended: `tool_call` at INFO, whatever transport and revision brought it, `task_ended`
/// for a call that went on as a task, `mcp_request` at DEBUG for other methods. Arguments and content are left out.
void log_end(const running_request& request, const outcome& done, std::chrono::duration<double> took);

}  // namespace cmcp
