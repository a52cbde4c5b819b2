#include "sandboxes/kernel_manager.hpp"
#include "tools/sandbox_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

awaitable<tool_result> process_restart(kernel_manager& kernels, sandbox_manager& sandboxes, tool_context& context,
                                       sandbox_input input)
{
    const auto where = sandboxes.find(context.who, input.sandbox_id);
    const bool was_running = co_await kernels.end(where.id);
    tool_result result;
    result.structured["success"] = true;
    result.structured["was_running"] = was_running;
    co_return result;
}

}  // namespace

tool_owner make_restart_kernel(kernel_manager& kernels, sandbox_manager& sandboxes)
{
    return make_tool<sandbox_input>(
        {.about = {.name = "restart_kernel",
                   .title = "Restart the Python kernel of a sandbox",
                   .description = "Ends the sandbox's Python kernel with what runs in it; the next stateful call "
                                  "starts a fresh one without variables. Files stay.",
                   .output_schema = schema::output({{"success", schema::boolean("Whether it worked")},
                                                    {"was_running", schema::boolean("Whether there was a kernel")},
                                                    {"error", schema::string("What went wrong and what to do")}},
                                                   {"success", "was_running"}),
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false}},
         .input = {sandbox_id_field()},
         .process = std::bind_front(process_restart, std::ref(kernels), std::ref(sandboxes))});
}

}  // namespace cmcp
