#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

tool_definition restart_kernel_definition()
{
    tool_definition made;
    made.name = "restart_kernel";
    made.title = "Restart the Python kernel of a sandbox";
    made.description =
        "Ends the sandbox's Python kernel with what runs in it; the next stateful call starts a fresh one without "
        "variables. Files stay.";
    made.input_schema = schema::input({{"sandbox_id", sandbox_id_schema()}}, {"sandbox_id"});
    made.output_schema = schema::output({{"success", schema::boolean("Whether it worked")},
                                         {"was_running", schema::boolean("Whether there was a kernel")},
                                         {"error", schema::string("What went wrong and what to do")}},
                                        {"success", "was_running"});
    made.annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false};
    return made;
}

class restart_kernel final : public sandbox_tool {
public:
    explicit restart_kernel(managers& all) : sandbox_tool(restart_kernel_definition()), all_(all) {}

private:
    awaitable<tool_result> act(tool_context& context, json::object arguments) override
    {
        const auto where = all_.sandboxes->find(context.who, read_string(arguments, "sandbox_id"));
        const bool was = co_await all_.kernels->end(where.id);
        tool_result made;
        made.structured["success"] = true;
        made.structured["was_running"] = was;
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_restart_kernel(managers& all) { return std::make_unique<restart_kernel>(all); }

}  // namespace cmcp
