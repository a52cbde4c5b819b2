#include "tools/interpreter_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

tool_definition stop_sandbox_definition()
{
    tool_definition made;
    made.name = "stop_sandbox";
    made.title = "Stop and remove a sandbox";
    made.description = "Ends all that runs in your sandbox and removes it with its files.";
    made.input_schema =
        schema::input({{"sandbox_id", sandbox_id_schema("Handle of a sandbox; your latest one when left out")}});
    made.output_schema = interpreter_schema({{"sandbox_id", schema::string("Handle of the sandbox that was removed")}},
                                            {"status", "message"});
    made.annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false};
    return made;
}

class stop_sandbox final : public interpreter_tool {
public:
    explicit stop_sandbox(managers& all) : interpreter_tool(stop_sandbox_definition()), all_(all) {}

private:
    awaitable<tool_result> act(tool_context& context, json::object arguments) override
    {
        const auto asked = read_string(arguments, "sandbox_id");
        const auto found =
            asked.empty() ? all_.sandboxes->latest(context.who) : all_.sandboxes->find(context.who, asked);
        co_await all_.sandboxes->remove(context.who, found.id);
        tool_result made;
        made.structured["status"] = "success";
        made.structured["message"] = "Sandbox stopped and removed.";
        made.structured["sandbox_id"] = found.id;
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_stop_sandbox(managers& all) { return std::make_unique<stop_sandbox>(all); }

}  // namespace cmcp
