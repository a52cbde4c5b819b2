#include "tools/sandbox_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

awaitable<tool_result> process_stop(sandbox_manager& sandboxes, tool_context& context, sandbox_input input)
{
    const auto where = named_or_latest(sandboxes, context.who, input.sandbox_id);
    co_await sandboxes.remove(context.who, where.id);
    tool_result result;
    result.structured["status"] = "success";
    result.structured["message"] = "Sandbox stopped and removed.";
    result.structured["sandbox_id"] = where.id;
    co_return result;
}

}  // namespace

tool_owner make_stop_sandbox(sandbox_manager& sandboxes)
{
    return make_tool<sandbox_input>(
        {.about = {.name = "stop_sandbox",
                   .title = "Stop and remove a sandbox",
                   .description = "Ends all that runs in your sandbox and removes it with its files.",
                   .output_schema =
                       interpreter_schema({{"sandbox_id", schema::string("Handle of the sandbox that was removed")}},
                                          {"status", "message"}),
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false}},
         .input = {latest_sandbox_id_field()},
         .process = std::bind_front(process_stop, std::ref(sandboxes)),
         .refuse = interpreter_refusal});
}

}  // namespace cmcp
