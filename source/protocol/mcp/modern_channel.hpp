#pragma once

#include "mcp/request_channel.hpp"
#include "mcp/tasks/job_io.hpp"
#include "mcp/tasks/task_call.hpp"

#include <memory>
#include <optional>

namespace cmcp {

/// request_io of 2026-07-28: input requests end the call, their answers come with its next attempt. A call that may go
/// on without its request becomes a task, or a job; from then on this is the request_io of that.
class modern_channel final : public request_channel {
public:
    /// `known`: answers by key, of this attempt and of earlier ones. `log_threshold` empty: no log messages.
    /// `may_go_on` null: the call ends with its request.
    modern_channel(const caller& who, std::shared_ptr<message_sink> sink, const json::object* meta,
                   std::optional<log_severity> log_threshold, json::object known,
                   std::shared_ptr<task_call> may_go_on = nullptr);

    bool takes_task() const override;
    std::string become_task(std::string status_message) override;

    /// Even without a progress token: a task's status message shows how far it is.
    bool wants_progress() const override { return takes_task() || request_channel::wants_progress(); }
    awaitable<> progress(double progress, std::optional<double> total, std::string message) override;
    awaitable<> output(double progress, std::vector<output_text> texts) override;
    awaitable<> log(log_severity level, std::string logger, json::value data) override;
    awaitable<> notify(std::string method, json::object params) override;
    awaitable<json::object> ask(std::string key, std::string method, json::object params) override;
    bool can_ask(std::string_view method, const json::object& params) const override;
    awaitable<std::optional<json::object>> ask_meanwhile(std::string key, std::string method, json::object params,
                                                         std::chrono::milliseconds limit) override;
    void close_stream_for_polling() override;

    /// Asks several things and waits for the answers in a task; nothing elsewhere: the call must end and come again.
    awaitable<std::optional<json::object>> ask_and_wait(json::object input_requests);

    /// Answers that ask() handed out: they travel in the request state when the next input request ends the call.
    const json::object& used() const { return used_; }

private:
    bool lets_through(log_severity level) const override { return log_threshold_ && level >= *log_threshold_; }
    bool has_become() const { return call_ && call_->became(); }
    job_io* background();  // null: an ordinary call

    const caller& caller_;
    std::optional<log_severity> log_threshold_;
    json::object known_;
    json::object used_;
    std::shared_ptr<task_call> call_;
    std::optional<job_io> background_;
};

}  // namespace cmcp
