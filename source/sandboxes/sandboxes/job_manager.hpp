#pragma once

#include "identity/quotas.hpp"
#include "jobs/job_register.hpp"
#include "mcp/caller.hpp"
#include "mcp/request_io.hpp"
#include "mcp/tool.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

/// The description of a job, for its record.
struct new_job {
    std::string sandbox{};  ///< id; empty: of none
    std::string tool;
    std::string label;              ///< the code or command; its beginning is kept
    std::string request{};          ///< the id of the request that begins it, for the log
    std::uint64_t kept_output = 0;  ///< bytes of its latest output that stay; 0: all
};

/// The jobs of callers: runs that a caller sends to the background, and the tasks of the same caller. Throws
/// sandbox_error; a foreign job and one that never was are the same NotFound. Io thread only.
class job_manager {
public:
    /// The work of a job: reports its progress to `io`, returns the result of the tool.
    using work = std::function<awaitable<tool_result>(request_io& io)>;

    /// All must outlive this. `calls_become_jobs`: see becomes_jobs().
    job_manager(quotas& limits, job_register& jobs, bool calls_become_jobs = true)
        : limits_(limits), jobs_(jobs), calls_become_jobs_(calls_become_jobs)
    {
    }

    /// Begins a job. Its record says whether it waits for its turn (state, job_view::queue_position).
    awaitable<job_view> start(caller who, new_job description, work begins);

    /// Whether a call goes on as a job when its time is over.
    bool becomes_jobs() const { return calls_become_jobs_; }

    /// The end of attend(): a result, or the job that the call has become and what it had printed until then.
    struct end_of_call {
        std::optional<tool_result> result;
        job_record job{};
        std::string printed{};
    };

    /// Does the work of a call. When its run asks request_io::outlive() and the caller may have one more job, the work
    /// goes on as one. Ends the work when this coroutine is cancelled. Throws what the work throws.
    awaitable<end_of_call> attend(caller who, request_io& io, new_job description, work begins);

    /// As job_register::view().
    awaitable<job_view> poll(caller who, std::string id, std::uint64_t cursor, job_patience patience, std::size_t most);
    /// What an ended job's tool has answered; empty while it runs.
    awaitable<json::object> result_of(job_record ended) { return jobs_.read(ended.owner, std::move(ended.result)); }
    std::vector<job_record> list(const caller& who);

    /// Ends the job and waits for the end. A job that had ended stays as it is.
    awaitable<job_record> kill(caller who, std::string id);

    /// Called with each job that its owner has ended by kill(), or would have, had it still run.
    void on_kill(std::function<void(const job_record&)> listener) { killed_ = std::move(listener); }

    /// Called with each job that has ended, and its result.
    void on_end(std::function<void(const job_record&, const tool_result&)> listener) { ended_ = std::move(listener); }

private:
    struct attended;

    bool has_room(const std::string& principal) const;
    std::shared_ptr<job> make(const std::string& principal, new_job description, std::shared_ptr<canceller> ends);
    job_record owned(const caller& who, const std::string& id);
    awaitable<> run(std::shared_ptr<job> running, std::string request, work begins);
    awaitable<> carry_out(std::shared_ptr<attended> call, std::string request, work begins);
    void conclude(job& ended, const std::string& request, std::chrono::steady_clock::time_point began,
                  tool_result result, const std::exception_ptr& failure);

    quotas& limits_;
    job_register& jobs_;
    bool calls_become_jobs_;
    std::function<void(const job_record&, const tool_result&)> ended_;
    std::function<void(const job_record&)> killed_;
};

}  // namespace cmcp
