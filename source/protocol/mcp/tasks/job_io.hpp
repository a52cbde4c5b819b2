#pragma once

#include "jobs/job_register.hpp"
#include "mcp/caller.hpp"
#include "mcp/client_capability.hpp"
#include "mcp/request_io.hpp"

#include <memory>

namespace cmcp {

/// request_io of a call that goes on as a job: its output is stored, its messages say how far it is.
class job_io final : public request_io {
public:
    /// `asks`: whom the call may ask; null: nobody. `jobs` must outlive this.
    job_io(job_register& jobs, std::shared_ptr<job> work, const caller* asks = nullptr)
        : jobs_(jobs), job_(std::move(work)), asks_(asks)
    {
    }

    bool wants_progress() const override { return true; }
    awaitable<> progress(double progress, std::optional<double> total, std::string message) override;
    awaitable<> output(double progress, std::vector<output_text> texts) override;
    awaitable<> log(log_severity level, std::string logger, json::value data) override;
    void queued(std::size_t position) override { job_->queue(position); }
    awaitable<> notify(std::string, json::object) override { co_return; }
    awaitable<json::object> ask(std::string key, std::string method, json::object params) override;
    bool can_ask(std::string_view method, const json::object& params) const override
    {
        return asks_ != nullptr && supports_request(*asks_, method, params);
    }
    awaitable<std::optional<json::object>> ask_meanwhile(std::string key, std::string method, json::object params,
                                                         std::chrono::milliseconds limit) override;
    void close_stream_for_polling() override {}

private:
    awaitable<std::optional<json::object>> ask_until(std::string key, std::string method, json::object params,
                                                     event::clock::time_point limit);

    job_register& jobs_;
    std::shared_ptr<job> job_;
    const caller* asks_;
};

}  // namespace cmcp
