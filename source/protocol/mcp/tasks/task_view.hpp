#pragma once

#include "config/principal_limits.hpp"
#include "jobs/job_register.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

class stateless_request;

struct task_limits {
    std::size_t most = 4096;  ///< stored, running or ended
    limit_of_principal of_caller = [](std::string_view) { return 1024; };
    std::uint64_t result_bytes = 128 * 1024 * 1024;  ///< of all stored results, as JSON
    std::chrono::milliseconds ttl{3'600'000};        ///< after the end
    std::chrono::milliseconds after{10'000};         ///< a longer call becomes a task; 0: only when its tool says so
};

/// Jobs as the tasks of SEP-2663. A task belongs to the principal that began it.
class task_view {
public:
    task_view(std::shared_ptr<job_register> jobs, task_limits limits)
        : jobs_(std::move(jobs)), limits_(std::move(limits))
    {
    }

    job_register& jobs() const { return *jobs_; }
    const task_limits& limits() const { return limits_; }

    /// A job that is kept for the time of tasks. Throws rpc_error server_error when there are too many, or the server
    /// stops.
    std::shared_ptr<job> add(job_record record, std::shared_ptr<canceller> ends) const;

    json::object describe(const job_record& record) const;  ///< `Task`

    /// `DetailedTask`: with inputRequests, result or error.
    awaitable<json::object> detail(job_record record) const;

    /// Throws rpc_error: missing_client_capability, invalid_params, the same for a task that is unknown, expired or
    /// somebody else's.
    job_record wanted(const stateless_request& incoming) const;

private:
    std::string_view status(const job_record& record) const;

    std::shared_ptr<job_register> jobs_;
    task_limits limits_;
};

using task_function = awaitable<json::object> (*)(const task_view& tasks, const stateless_request& incoming);

/// tasks/get, tasks/update and tasks/cancel; null for others. They throw rpc_error as task_view::wanted() does.
task_function find_task_method(std::string_view name);

}  // namespace cmcp
