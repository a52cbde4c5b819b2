#pragma once

#include "mcp/task_store.hpp"

#include <string>

namespace cmcp {

/// A call that may go on as a task. Shared by the coroutine that does the work and the request that waits for it.
class task_call {
public:
    /// `tasks` must outlive what runs in it.
    task_call(asio::any_io_executor executor, task_store& tasks, std::string owner,
              std::shared_ptr<running_request> work);

    const std::shared_ptr<task>& became() const { return task_; }  ///< null as long as it is an ordinary call

    /// Does nothing when it is a task already. Throws rpc_error when there are too many.
    task& become(std::string_view message);

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
    awaitable<> give_up();  // ends the work

    task_store& tasks_;
    std::string owner_;
    std::shared_ptr<running_request> work_;
    std::shared_ptr<task> task_;
    std::optional<outcome> ending_;
    bool over_ = false;  // the work has ended
    asio::steady_timer news_;
};

}  // namespace cmcp
