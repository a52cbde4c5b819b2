#pragma once

#include "mcp/attempt_state.hpp"
#include "mcp/tasks/task_view.hpp"

#include <string>

namespace cmcp {

/// The parts of a call that goes on in a job while its client is asked, although the client takes no tasks
/// (request_io::ask_meanwhile). Its owner finds the job by the request state alone.

/// Waits until the call has ended or asks: its result, or an InputRequiredResult. The call ends when this is cancelled.
/// Throws rpc_error.
awaitable<json::object> wait_for_job(const task_view& tasks, stateless_request& request, std::string id,
                                     const request_state& seal);

/// The same for a further attempt, with its answers to what the call asked. Throws rpc_error for a call that is not
/// known any more.
awaitable<json::object> go_on(const task_view& tasks, stateless_request& request, attempt_state state,
                              const request_state& seal);

}  // namespace cmcp
