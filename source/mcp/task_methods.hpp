#pragma once

#include "mcp/modern_request.hpp"
#include "mcp/task_store.hpp"

#include <string_view>

namespace cmcp {

using task_function = json::object (*)(task_store& tasks, const modern_request& incoming);

/// tasks/get, tasks/update and tasks/cancel (SEP-2663); null for others. They throw rpc_error:
/// missing_client_capability, invalid_params (no such task of this caller).
task_function find_task_method(std::string_view name);

}  // namespace cmcp
