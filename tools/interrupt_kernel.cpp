#include "sandboxes/kernel_manager.hpp"
#include "tools/sandbox_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

awaitable<tool_result> process_interrupt(kernel_manager& kernels, sandbox_manager& sandboxes, tool_context& context,
                                         sandbox_input input)
{
    const auto where = sandboxes.find(context.who, input.sandbox_id);
    tool_result result;
    result.structured["success"] = true;
    result.structured["was_running"] = kernels.interrupt(where.id);
    co_return result;
}

}  // namespace

tool_owner make_interrupt_kernel(kernel_manager& kernels, sandbox_manager& sandboxes)
{
    return make_tool<sandbox_input>(
        {.about = {.name = "interrupt_kernel",
                   .title = "Interrupt the Python kernel of a sandbox",
                   .description =
                       "Raises KeyboardInterrupt in the code that runs in the sandbox's Python kernel. Variables stay.",
                   .output_schema = schema::output({{"success", schema::boolean("Whether it worked")},
                                                    {"was_running", schema::boolean("Whether code ran")},
                                                    {"error", schema::string("What went wrong and what to do")}},
                                                   {"success", "was_running"}),
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false}},
         .input = {sandbox_id_field()},
         .process = std::bind_front(process_interrupt, std::ref(kernels), std::ref(sandboxes))});
}

}  // namespace cmcp
