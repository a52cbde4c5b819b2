#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

tool_definition define()
{
    tool_definition made;
    made.name = "fork_sandbox";
    made.title = "Copy a sandbox";
    made.description =
        "Make a new sandbox with a copy of another's files and packages; the two have nothing in common afterwards.";
    made.input_schema = schema::input(
        {{"sandbox_id", sandbox_id_schema()}, {"name", schema::string("Name of the new one; made up when left out")}},
        {"sandbox_id"});
    made.output_schema = schema::output({{"sandbox_id", schema::string("Handle of the new one")},
                                         {"name", schema::string("Its name")},
                                         {"status", schema::one_of("Its state", {"running", "stopped"})},
                                         {"forked_from", schema::string("Handle of the old one")},
                                         {"error", schema::string("What went wrong and what to do")}},
                                        {"sandbox_id", "name", "status", "forked_from"});
    made.annotations = {.read_only = false, .destructive = false, .idempotent = false, .open_world = false};
    return made;
}

class fork_sandbox final : public sandbox_tool {
public:
    explicit fork_sandbox(managers& all) : sandbox_tool(define()), all_(all) {}

private:
    awaitable<tool_result> act(tool_context& context, json::object arguments) override
    {
        const auto from = all_.sandboxes->find(context.who, read_string(arguments, "sandbox_id"));
        const auto where = co_await all_.sandboxes->fork(context.who, from.id, read_string(arguments, "name"));
        tool_result made;
        made.structured = sandbox_json(where);
        made.structured["forked_from"] = from.id;
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_fork_sandbox(managers& all) { return std::make_unique<fork_sandbox>(all); }

}  // namespace cmcp
