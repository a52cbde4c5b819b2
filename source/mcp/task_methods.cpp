#include "mcp/task_methods.hpp"

#include "mcp/params.hpp"
#include "mcp/tasks_extension.hpp"

#include <array>

namespace cmcp {

namespace {

std::shared_ptr<task> wanted(const task_store& tasks, const modern_request& incoming)
{
    require_tasks_extension(incoming.who);
    const auto id = required_string(incoming.params, "taskId");
    return tasks.get(incoming.who.principal, id);
}

void check_response(std::string_view key, const json::value& response)
{
    if (response.is_object()) return;
    throw rpc_error(rpc_code::invalid_params,
                    "Invalid params: `inputResponses." + std::string(key.substr(0, 100)) + "` must be an object");
}

json::object get(task_store& tasks, const modern_request& incoming) { return wanted(tasks, incoming)->detail(); }

json::object update(task_store& tasks, const modern_request& incoming)
{
    const auto found = wanted(tasks, incoming);
    const auto& responses = required_object(incoming.params, "inputResponses");
    for (const auto& member : responses) check_response(member.key(), member.value());
    found->answer(responses);
    return {};
}

json::object cancel(task_store& tasks, const modern_request& incoming)
{
    wanted(tasks, incoming)->cancel("cancelled by the client");
    return {};
}

struct row {
    std::string_view name;
    task_function function;
};

constexpr std::array<row, 3> table{{{"tasks/get", get}, {"tasks/update", update}, {"tasks/cancel", cancel}}};

}  // namespace

task_function find_task_method(std::string_view name)
{
    for (const auto& row : table)
        if (row.name == name) return row.function;
    return nullptr;
}

}  // namespace cmcp
