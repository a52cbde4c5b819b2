#include "tools/sandbox_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

awaitable<tool_result> process_delete(sandbox_manager& sandboxes, tool_context& context, sandbox_input input)
{
    const auto where = sandboxes.find(context.who, input.sandbox_id);
    co_await sandboxes.remove(context.who, where.id);
    tool_result result;
    result.structured["success"] = true;
    result.structured["sandbox_id"] = where.id;
    co_return result;
}

}  // namespace

tool_owner make_delete_sandbox(sandbox_manager& sandboxes)
{
    return make_tool<sandbox_input>(
        {.about = {.name = "delete_sandbox",
                   .title = "Delete a sandbox",
                   .description = "Ends all that runs in a sandbox of yours and removes it with its files, packages "
                                  "and snapshots.",
                   .output_schema = schema::output({{"success", schema::boolean("Whether it is gone")},
                                                    {"sandbox_id", schema::string("Its handle")},
                                                    {"error", schema::string("What went wrong and what to do")}},
                                                   {"success", "sandbox_id"}),
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false}},
         .input = {sandbox_id_field()},
         .process = std::bind_front(process_delete, std::ref(sandboxes))});
}

}  // namespace cmcp
