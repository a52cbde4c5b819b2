#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

tool_definition delete_sandbox_definition()
{
    tool_definition made;
    made.name = "delete_sandbox";
    made.title = "Delete a sandbox";
    made.description =
        "Ends all that runs in a sandbox of yours and removes it with its files, packages and snapshots.";
    made.input_schema = schema::input({{"sandbox_id", sandbox_id_schema()}}, {"sandbox_id"});
    made.output_schema = schema::output({{"success", schema::boolean("Whether it is gone")},
                                         {"sandbox_id", schema::string("Its handle")},
                                         {"error", schema::string("What went wrong and what to do")}},
                                        {"success", "sandbox_id"});
    made.annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false};
    return made;
}

class delete_sandbox final : public sandbox_tool {
public:
    explicit delete_sandbox(managers& all) : sandbox_tool(delete_sandbox_definition()), all_(all) {}

private:
    awaitable<tool_result> act(tool_context& context, json::object arguments) override
    {
        const auto found = all_.sandboxes->find(context.who, read_string(arguments, "sandbox_id"));
        co_await all_.sandboxes->remove(context.who, found.id);
        tool_result made;
        made.structured["success"] = true;
        made.structured["sandbox_id"] = found.id;
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_delete_sandbox(managers& all) { return std::make_unique<delete_sandbox>(all); }

}  // namespace cmcp
