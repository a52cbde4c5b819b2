#pragma once

#include "mcp/modern_channel.hpp"
#include "mcp/tasks/job_io.hpp"
#include "mcp/tasks/task_call.hpp"

#include <optional>

namespace cmcp {

/// request_io of a call that may go on without its request: first that of an ordinary call, then that of a job.
class task_channel final : public modern_channel {
public:
    task_channel(modern_channel ordinary, std::shared_ptr<task_call> call)
        : modern_channel(std::move(ordinary)), call_(std::move(call))
    {
    }

    bool takes_task() const override { return declares_tasks(who()); }
    std::string become_task(std::string status_message) override;

    /// Even without a progress token: a task's status message shows how far it is.
    bool wants_progress() const override { return takes_task() || modern_channel::wants_progress(); }
    awaitable<> progress(double progress, std::optional<double> total, std::string message) override;
    awaitable<> output(double progress, std::vector<output_text> texts) override;
    awaitable<> log(log_severity level, std::string logger, json::value data) override;
    awaitable<> notify(std::string method, json::object params) override;
    awaitable<json::object> ask(std::string key, std::string method, json::object params) override;
    bool can_ask(std::string_view method, const json::object& params) const override;
    awaitable<std::optional<json::object>> ask_meanwhile(std::string key, std::string method, json::object params,
                                                         std::chrono::milliseconds limit) override;
    awaitable<std::optional<json::object>> ask_and_wait(json::object input_requests) override;
    void close_stream_for_polling() override;

private:
    job_io* background();  // null: an ordinary call

    std::shared_ptr<task_call> call_;
    std::optional<job_io> background_;
};

}  // namespace cmcp
