#pragma once

#include "identity/quotas.hpp"
#include "jobs/job_register.hpp"
#include "mcp/caller.hpp"
#include "mcp/request_io.hpp"
#include "mcp/tool.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

/// The description of a job, for its record.
struct new_job {
    std::string sandbox{};  ///< id; empty: the caller's workspace
    std::string tool;
    std::string label;      ///< the code or command; its beginning is kept
    std::string request{};  ///< the id of the request that begins it, for the log
};

/// The jobs of callers: runs that a caller sends to the background, and the tasks of the same caller. Throws
/// sandbox_error; a foreign job and one that never was are the same NotFound. Io thread only.
class job_manager {
public:
    /// The work of a job: reports its progress to `io`, returns the result of the tool.
    using work = std::function<awaitable<tool_result>(request_io& io)>;

    /// All must outlive this.
    job_manager(quotas& limits, job_register& jobs) : limits_(limits), jobs_(jobs) {}

    /// Begins a job. Its record says whether it waits for its turn (state, job_view::place).
    awaitable<job_view> start(caller who, new_job description, work begins);

    /// Waits up to `patience` for text behind the cursor or the end of the job. Gives at most `most` bytes of it.
    awaitable<job_view> poll(caller who, std::string id, std::uint64_t cursor, std::chrono::milliseconds patience,
                             std::size_t most);
    std::vector<job_record> list(const caller& who);

    /// Ends the job and waits for the end. A job that had ended stays as it is.
    awaitable<job_record> kill(caller who, std::string id);

    /// Called with each job that has ended, and its result.
    void on_end(std::function<void(const job_record&, const tool_result&)> listener) { ended_ = std::move(listener); }

private:
    job_record owned(const caller& who, const std::string& id);
    awaitable<> run(std::shared_ptr<job> running, std::string request, work begins);

    quotas& limits_;
    job_register& jobs_;
    std::function<void(const job_record&, const tool_result&)> ended_;
};

}  // namespace cmcp
