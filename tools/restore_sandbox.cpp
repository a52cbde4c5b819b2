#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

tool_definition restore_sandbox_definition()
{
    tool_definition made;
    made.name = "restore_sandbox";
    made.title = "Go back to a snapshot";
    made.description =
        "Ends all that runs in a sandbox of yours and puts its files and packages back as a snapshot has them. What "
        "was made since is lost.";
    made.input_schema = schema::input({{"sandbox_id", sandbox_id_schema()},
                                       {"snapshot", schema::string("Name or handle of a snapshot of this sandbox")}},
                                      {"sandbox_id", "snapshot"});
    made.output_schema = schema::output({{"success", schema::boolean("Whether it worked")},
                                         {"sandbox_id", schema::string("Handle of the sandbox")},
                                         {"snapshot_id", schema::string("Handle of the snapshot")},
                                         {"error", schema::string("What went wrong and what to do")}},
                                        {"success", "sandbox_id", "snapshot_id"});
    made.annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false};
    return made;
}

class restore_sandbox final : public sandbox_tool {
public:
    explicit restore_sandbox(managers& all) : sandbox_tool(restore_sandbox_definition()), all_(all) {}

private:
    awaitable<tool_result> act(tool_context& context, json::object arguments) override
    {
        const auto where = all_.sandboxes->find(context.who, read_string(arguments, "sandbox_id"));
        const auto used = co_await all_.sandboxes->restore(context.who, where.id, read_string(arguments, "snapshot"));
        tool_result made;
        made.structured["success"] = true;
        made.structured["sandbox_id"] = where.id;
        made.structured["snapshot_id"] = used.id;
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_restore_sandbox(managers& all) { return std::make_unique<restore_sandbox>(all); }

}  // namespace cmcp
