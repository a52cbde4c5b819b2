#pragma once

#include "async/task_group.hpp"
#include "mcp/task.hpp"

#include <unordered_map>

namespace cmcp {

struct task_limits {
    std::size_t most = 4096;  ///< kept, running or ended
    std::size_t most_per_caller = 1024;
    std::size_t result_bytes = 128 * 1024 * 1024;  ///< of all kept results, as JSON
    std::chrono::milliseconds ttl{3'600'000};      ///< after creation and again after the end
    std::chrono::milliseconds after{10'000};       ///< a longer call becomes a task; 0: only when its tool says so
};

/// The tasks of all callers. A task belongs to the principal that made it.
class task_store {
public:
    /// `changed` is called with the id of a task whose status has changed.
    task_store(asio::any_io_executor executor, task_limits limits, std::function<void(const std::string& id)> changed);

    const task_limits& limits() const { return limits_; }

    /// Throws rpc_error server_error when there are too many, or the server stops.
    std::shared_ptr<task> add(std::string owner, std::shared_ptr<running_request> work);
    void forget(const std::string& id) { tasks_.erase(id); }

    /// Throws rpc_error invalid_params, the same for a task that is unknown, expired or somebody else's.
    std::shared_ptr<task> get(std::string_view owner, const std::string& id) const;
    std::shared_ptr<task> find(const std::string& id) const;  ///< null when there is none

    /// Runs what a call does; it may outlive the call's request.
    void run(std::string name, awaitable<> work) { works_.spawn(std::move(name), std::move(work)); }

    void stop();  ///< ends every task and takes no new ones
    awaitable<bool> wait_idle(std::chrono::milliseconds limit) { return works_.wait_idle(limit); }

private:
    void check_room(const std::string& owner) const;
    std::chrono::steady_clock::time_point sweep();
    awaitable<> keep_sweeping();

    asio::any_io_executor executor_;
    task_limits limits_;
    std::function<void(const std::string&)> changed_;
    std::unordered_map<std::string, std::shared_ptr<task>> tasks_;
    bool stopping_ = false;
    bool sweeping_ = false;
    task_group works_;
    task_group housekeeping_;
};

}  // namespace cmcp
