#pragma once

#include "async/event.hpp"
#include "mcp/running_request.hpp"
#include "mcp/tasks/task_view.hpp"

#include <string>

namespace cmcp {

/// A call that may go on as a task. Shared by the coroutine that does the work and the request that waits for it.
class task_call {
public:
    /// `description` is the record of the task that the call may become. `tasks` must outlive what runs in it.
    task_call(const task_view& tasks, job_record description, std::shared_ptr<running_request> work);

    job_register& jobs() const { return tasks_.jobs(); }
    const std::shared_ptr<job>& became() const { return task_; }  ///< null as long as it is an ordinary call

    /// Does nothing when the call is a task already. Throws rpc_error when there are too many.
    job& become(std::string_view message);

    /// Waits until the call has ended or became a task, which it does by itself after `patience` (zero: never) if there
    /// is room. When this coroutine is cancelled, ends the work, waits for that and throws operation_aborted.
    awaitable<> wait(std::chrono::milliseconds patience);

    /// Runs the work to its end and keeps how it ended.
    static awaitable<> carry_out(std::shared_ptr<task_call> call, awaitable<json::object> work);

    outcome take_ending() { return std::move(*ending_); }  ///< of a call that ended as an ordinary one

private:
    bool settled() const { return task_ || ending_; }
    void become_if_room();
    void end(outcome done);
    void end_task(outcome done);
    awaitable<> give_up();  // ends the work

    const task_view& tasks_;
    job_record description_;
    std::shared_ptr<running_request> work_;
    std::shared_ptr<job> task_;
    std::optional<outcome> ending_;
    bool over_ = false;  // the work has ended
    event changed_;
};

}  // namespace cmcp
