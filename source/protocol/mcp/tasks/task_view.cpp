#include "mcp/tasks/task_view.hpp"

#include "jsonrpc/read_object.hpp"
#include "mcp/client_capability.hpp"
#include "mcp/methods.hpp"
#include "mcp/params.hpp"
#include "mcp/stateless_request.hpp"
#include "text/time_text.hpp"

#include <array>
#include <cmath>

namespace cmcp {

namespace {

constexpr std::int64_t poll_interval_ms = 1000;

std::string time_text_of(double seconds)
{
    const std::chrono::duration<double> since_1970(seconds);
    using clock = std::chrono::system_clock;
    return timestamp(clock::time_point(std::chrono::duration_cast<clock::duration>(since_1970)));
}

// From the beginning. A task that runs stays when its time is over.
json::value ttl_ms(const job_record& record)
{
    if (record.keep == 0) return nullptr;
    const double passed = (record.ended != 0 ? record.ended : job_register::now()) - record.created;
    const double before = record.ended != 0 ? passed : record.keep * std::floor(passed / record.keep);
    return static_cast<std::int64_t>(std::llround((before + record.keep) * 1000));
}

// A run whose tool failed has a result; a task that fails has an error instead.
json::object task_error(const job_record& record)
{
    auto error = jsonrpc::read_object(record.error);
    if (!error.empty()) return error;
    error["code"] = rpc_code::server_error;
    error["message"] = record.message;
    return error;
}

[[noreturn]] void refuse_task(const std::string& reason)
{
    throw rpc_error(rpc_code::server_error, "too many tasks: " + reason);
}

void check_room(const std::string& principal, const job_usage& used, const task_limits& limits)
{
    const std::string advice = "; they are kept for an hour after their end; try again later";
    if (used.own >= limits.of_caller(principal))
        refuse_task("this caller has " + std::to_string(used.own) + ", as its quota of tasks allows" + advice);
    if (used.all >= limits.most) refuse_task("the server has " + std::to_string(used.all) + advice);
    if (used.bytes >= limits.result_bytes)
        refuse_task("their results fill the room that is set aside for them" + advice);
}

void check_response(std::string_view key, const json::value& response)
{
    if (response.is_object()) return;
    throw rpc_error(rpc_code::invalid_params,
                    "Invalid params: `inputResponses." + std::string(key.substr(0, 100)) + "` must be an object");
}

awaitable<json::object> get_task(const task_view& tasks, const stateless_request& incoming)
{
    return tasks.detail(tasks.wanted(incoming));
}

awaitable<json::object> update_task(const task_view& tasks, const stateless_request& incoming)
{
    const auto record = tasks.wanted(incoming);
    const auto& responses = required_object(incoming.params, "inputResponses");
    for (const auto& member : responses) check_response(member.key(), member.value());
    if (const auto live = tasks.jobs().running(record.id)) live->answer(responses);
    return finished({});
}

awaitable<json::object> cancel_task(const task_view& tasks, const stateless_request& incoming)
{
    const auto record = tasks.wanted(incoming);
    if (const auto live = tasks.jobs().running(record.id)) live->cancel("killed", "cancelled by the client");
    return finished({});
}

struct task_method {
    std::string_view name;
    task_function function;
};

constexpr std::array<task_method, 3> task_methods{
    {{"tasks/get", get_task}, {"tasks/update", update_task}, {"tasks/cancel", cancel_task}}};

}  // namespace

std::shared_ptr<job> task_view::add(job_record record, std::shared_ptr<canceller> ends) const
{
    if (jobs_->stopping()) throw rpc_error(rpc_code::server_error, "the server is stopping: no new tasks are taken");
    check_room(record.owner, jobs_->usage(record.owner), limits_);
    record.keep = std::chrono::duration<double>(limits_.ttl).count();
    return jobs_->add(std::move(record), std::move(ends));
}

std::string_view task_view::status(const job_record& record) const
{
    if (record.state == "running" || record.state == "queued") {
        const auto live = jobs_->running(record.id);
        return live && live->waits_for_owner() ? "input_required" : "working";
    }
    if (record.state == "killed") return "cancelled";
    const bool has_result = record.state != "lost" && !record.result.empty();
    return has_result ? "completed" : "failed";
}

json::object task_view::describe(const job_record& record) const
{
    const auto live = jobs_->running(record.id);
    json::object described;
    described["taskId"] = record.id;
    described["status"] = status(record);
    if (!record.message.empty()) described["statusMessage"] = record.message;
    described["createdAt"] = time_text_of(record.created);
    // Another process of the server may run the job.
    const double at_rest = record.ended != 0 ? record.ended : record.created;
    described["lastUpdatedAt"] = live ? timestamp(live->updated()) : time_text_of(at_rest);
    described["ttlMs"] = ttl_ms(record);
    described["pollIntervalMs"] = poll_interval_ms;
    return described;
}

awaitable<json::object> task_view::detail(job_record record) const
{
    auto described = describe(record);
    const std::string is = text_of(described, "status");
    if (is == "input_required") described["inputRequests"] = jobs_->running(record.id)->open_input_requests();
    if (is == "failed") described["error"] = task_error(record);
    if (is != "completed") co_return described;
    auto result = co_await jobs_->read(std::move(record.owner), std::move(record.result));
    if (!result.contains("resultType")) result["resultType"] = "complete";
    described["result"] = std::move(result);
    co_return described;
}

job_record task_view::wanted(const stateless_request& incoming) const
{
    require_tasks_extension(incoming.own);
    auto record = jobs_->find(required_string(incoming.params, "taskId"));
    if (record && record->owner == incoming.own.principal) return std::move(*record);
    throw rpc_error(rpc_code::invalid_params,
                    "Invalid params: `taskId` names no task of yours: it has expired or never was");
}

task_function find_task_method(std::string_view name)
{
    for (const auto& method : task_methods)
        if (method.name == name) return method.function;
    return nullptr;
}

}  // namespace cmcp
