#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

tool_definition interrupt_kernel_definition()
{
    tool_definition made;
    made.name = "interrupt_kernel";
    made.title = "Interrupt the Python kernel of a sandbox";
    made.description = "Raises KeyboardInterrupt in the code that runs in the sandbox's Python kernel. Variables stay.";
    made.input_schema = schema::input({{"sandbox_id", sandbox_id_schema()}}, {"sandbox_id"});
    made.output_schema = schema::output({{"success", schema::boolean("Whether it worked")},
                                         {"was_running", schema::boolean("Whether code ran")},
                                         {"error", schema::string("What went wrong and what to do")}},
                                        {"success", "was_running"});
    made.annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false};
    return made;
}

class interrupt_kernel final : public sandbox_tool {
public:
    explicit interrupt_kernel(managers& all) : sandbox_tool(interrupt_kernel_definition()), all_(all) {}

private:
    awaitable<tool_result> act(tool_context& context, json::object arguments) override
    {
        const auto where = all_.sandboxes->find(context.who, read_string(arguments, "sandbox_id"));
        tool_result made;
        made.structured["success"] = true;
        made.structured["was_running"] = all_.kernels->interrupt(where.id);
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_interrupt_kernel(managers& all) { return std::make_unique<interrupt_kernel>(all); }

}  // namespace cmcp
