#include "mcp/task_store.hpp"

#include "text/hex_id.hpp"

#include <boost/asio/this_coro.hpp>

#include <vector>

namespace cmcp {

namespace {

[[noreturn]] void refuse_task(const std::string& reason)
{
    throw rpc_error(rpc_code::server_error, "too many tasks: " + reason);
}

}  // namespace

task_store::task_store(asio::any_io_executor executor, task_limits limits,
                       std::function<void(const std::string& id)> changed)
    : executor_(executor), limits_(limits), changed_(std::move(changed)), works_(executor), housekeeping_(executor)
{
}

void task_store::check_room(const std::string& owner) const
{
    if (stopping_) throw rpc_error(rpc_code::server_error, "the server is stopping: no new tasks are taken");
    std::size_t own = 0;
    std::size_t bytes = 0;
    for (const auto& [id, kept] : tasks_) {
        if (kept->owner() == owner) ++own;
        bytes += kept->bytes();
    }
    const std::string advice = "; they are kept for MCP_TASK_TTL seconds after their end; try again later";
    if (own >= limits_.most_per_caller)
        refuse_task("this caller has " + std::to_string(own) + " (MCP_MAX_TASKS_PER_CALLER)" + advice);
    if (tasks_.size() >= limits_.most)
        refuse_task("the server has " + std::to_string(tasks_.size()) + " (MCP_MAX_TASKS)" + advice);
    if (bytes >= limits_.result_bytes) refuse_task("their results fill the memory that is set aside for them" + advice);
}

std::shared_ptr<task> task_store::add(std::string owner, std::shared_ptr<running_request> work)
{
    check_room(owner);
    auto told = [changed = changed_](const task& which) { changed(which.id()); };
    auto id = hex_id();
    auto made = std::make_shared<task>(executor_, id, std::move(owner), limits_.ttl, std::move(work), std::move(told));
    tasks_.emplace(std::move(id), made);
    if (!std::exchange(sweeping_, true)) housekeeping_.spawn("forget old tasks", keep_sweeping());
    return made;
}

std::shared_ptr<task> task_store::find(const std::string& id) const
{
    const auto found = tasks_.find(id);
    return found == tasks_.end() ? nullptr : found->second;
}

std::shared_ptr<task> task_store::get(std::string_view owner, const std::string& id) const
{
    auto found = find(id);
    if (found && found->owner() == owner) return found;
    throw rpc_error(rpc_code::invalid_params,
                    "Invalid params: `taskId` names no task of yours: it has expired or never was");
}

// Removes what has expired; returns when to look again.
std::chrono::steady_clock::time_point task_store::sweep()
{
    const auto now = std::chrono::steady_clock::now();
    auto next = std::chrono::steady_clock::time_point::max();
    std::vector<std::shared_ptr<task>> due;
    for (const auto& [id, kept] : tasks_)
        if (kept->expires() <= now) due.push_back(kept);
    for (const auto& old : due)
        if (old->expire()) tasks_.erase(old->id());
    for (const auto& [id, kept] : tasks_) next = std::min(next, kept->expires());
    return next;
}

// Each task lives at least as long as those before it, so what is added meanwhile needs no earlier look.
awaitable<> task_store::keep_sweeping()
{
    asio::steady_timer timer(executor_);
    while (!tasks_.empty()) {
        const auto next = sweep();
        if (tasks_.empty()) break;
        timer.expires_at(next);
        co_await timer.async_wait(asio::use_awaitable);
    }
    sweeping_ = false;
}

void task_store::stop()
{
    stopping_ = true;
    // A copy: the end of a task may take it out.
    const auto kept = tasks_;
    for (const auto& [id, each] : kept) each->cancel("the server stopped");
    housekeeping_.cancel_all();
}

}  // namespace cmcp
