#pragma once

#include "mcp/catalogue.hpp"
#include "mcp/message_sink.hpp"
#include "mcp/modern_request.hpp"
#include "mcp/request_state.hpp"
#include "mcp/task_call.hpp"

namespace cmcp {

/// Runs the methods that both eras know for 2026-07-28: one attempt, which ends with the result, with an input-required
/// result, or with a task.
class modern_calls {
public:
    /// `keep_alive` gives what must live as long as a call that went on as a task.
    modern_calls(catalogue& offered, const task_view& tasks, std::function<std::shared_ptr<void>()> keep_alive)
        : offered_(offered), tasks_(tasks), keep_alive_(std::move(keep_alive))
    {
    }

    awaitable<json::object> run(std::shared_ptr<modern_request> incoming, std::shared_ptr<message_sink> reply,
                                std::shared_ptr<running_request> running);

private:
    bool may_become_task(const modern_request& incoming) const;
    awaitable<json::object> run_detachable(std::shared_ptr<modern_request> incoming,
                                           std::shared_ptr<message_sink> reply, std::shared_ptr<running_request> outer);

    /// `becoming` null: cannot become a task. `kept` lives as long as the attempt.
    awaitable<json::object> attempt(std::shared_ptr<modern_request> incoming, std::shared_ptr<message_sink> reply,
                                    std::shared_ptr<running_request> running, std::shared_ptr<task_call> becoming,
                                    std::shared_ptr<void> kept);

    catalogue& offered_;
    const task_view& tasks_;
    std::function<std::shared_ptr<void>()> keep_alive_;
    request_state states_;
};

}  // namespace cmcp
