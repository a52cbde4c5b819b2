#pragma once

#include "async/event.hpp"
#include "mcp/tasks/job_io.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace cmcp {

/// request_io of a call that goes on as a job when its time is over: first that of the call, then that of the job.
class outliving_io final : public request_io {
public:
    /// Makes the job; null: there may be no more of them.
    using job_maker = std::function<std::shared_ptr<job>()>;

    /// `jobs` must outlive this, and `call` until goes_on() or this have ended.
    outliving_io(job_register& jobs, request_io& call, job_maker make);

    /// Null as long as it is a call. Its output begins with what the call had printed.
    const std::shared_ptr<job>& became() const { return job_; }

    /// The call is to be answered with the job: it is not used any more.
    bool goes_on() const { return goes_on_; }
    const std::string& printed() const { return printed_; }  ///< until then, as the job's output has it
    awaitable<> wait() { co_await changed_.wait(); }         ///< until goes_on(), or end() was called
    void end() { changed_.notify(); }

    bool wants_progress() const override { return job_ != nullptr || call_.wants_progress(); }
    awaitable<> progress(double progress, std::optional<double> total, std::string message) override;
    awaitable<> output(double progress, std::vector<output_text> texts) override;
    awaitable<> log(log_severity level, std::string logger, json::value data) override;
    void queued(std::size_t position) override;
    awaitable<> notify(std::string method, json::object params) override;
    awaitable<json::object> ask(std::string key, std::string method, json::object params) override;
    bool can_ask(std::string_view method, const json::object& params) const override;
    awaitable<std::optional<json::object>> ask_meanwhile(std::string key, std::string method, json::object params,
                                                         std::chrono::milliseconds limit) override;
    void close_stream_for_polling() override;
    bool takes_task() const override { return !job_ && call_.takes_task(); }
    std::string become_task(std::string status_message) override;
    awaitable<bool> outlive(printed_so_far so_far) override;
    call_activity& activity() override { return job_ ? request_io::activity() : call_.activity(); }

private:
    class use;

    job_register& jobs_;
    request_io& call_;
    job_maker make_;
    std::shared_ptr<job> job_;
    std::optional<job_io> background_;
    printed_so_far sent_;
    std::string printed_;
    std::size_t uses_ = 0;  // of the call, that have not ended
    bool goes_on_ = false;
    event changed_;
};

}  // namespace cmcp
