#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

json::object kernel_schema()
{
    json::object left_out = schema::object(
        "One of them",
        {{"name", schema::string("The variable, or \"figure 1\"")}, {"reason", schema::string("Why it stayed behind")}},
        {"name", "reason"});
    return schema::object(
        "What became of the Python kernel's state",
        {{"copied", schema::boolean("Whether the new sandbox's kernel has the state of the old one's")},
         {"variables", schema::integer("Variables that came along, imported modules, functions and classes included", 0,
                                       1'000'000'000'000)},
         {"figures", schema::integer("Open figures that came along", 0, 1'000'000'000'000)},
         {"bytes", schema::integer("Size of what came along", 0, 1'000'000'000'000)},
         {"not_copied",
          schema::array("What did not come along: open files, threads, generators, …", std::move(left_out))},
         {"note", schema::string("Why there is no state")}},
        {"copied"});
}

json::object kernel_json(const std::optional<kernel_transfer>& state)
{
    json::object made{{"copied", state && state->done}};
    if (!state)
        made["note"] = "The sandbox had no Python kernel; the new one starts with the first stateful call.";
    else if (!state->done)
        made["note"] = state->problem + " The files were copied; the new kernel starts without variables.";
    if (!state || !state->done) return made;
    made["variables"] = state->variables;
    made["figures"] = state->figures;
    made["bytes"] = state->bytes;
    json::array left_out;
    for (const auto& one : state->left_out)
        left_out.push_back(json::object{{"name", one.name}, {"reason", one.reason}});
    made["not_copied"] = std::move(left_out);
    return made;
}

tool_definition fork_sandbox_definition()
{
    tool_definition made;
    made.name = "fork_sandbox";
    made.title = "Copy a sandbox";
    made.description =
        "Make a new sandbox with a copy of another's files and packages, and where its Python kernel lives, of the "
        "kernel's "
        "variables, imports and open figures; the two have nothing in common afterwards.";
    made.input_schema = schema::input(
        {{"sandbox_id", sandbox_id_schema()}, {"name", schema::string("Name of the new one; made up when left out")}},
        {"sandbox_id"});
    made.output_schema = schema::output({{"sandbox_id", schema::string("Handle of the new one")},
                                         {"name", schema::string("Its name")},
                                         {"status", schema::one_of("Its state", {"running", "stopped"})},
                                         {"forked_from", schema::string("Handle of the old one")},
                                         {"kernel", kernel_schema()},
                                         {"error", schema::string("What went wrong and what to do")}},
                                        {"sandbox_id", "name", "status", "forked_from", "kernel"});
    made.annotations = {.read_only = false, .destructive = false, .idempotent = false, .open_world = false};
    return made;
}

class fork_sandbox final : public sandbox_tool {
public:
    explicit fork_sandbox(managers& all) : sandbox_tool(fork_sandbox_definition()), all_(all) {}

private:
    awaitable<tool_result> act(tool_context& context, json::object arguments) override
    {
        auto from = all_.sandboxes->find(context.who, read_string(arguments, "sandbox_id"));
        const std::string old = from.id;
        auto copying = all_.kernels->fork(context.who, context.io, std::move(from), read_string(arguments, "name"));
        const auto copied = co_await std::move(copying);
        tool_result made;
        made.structured = sandbox_json(copied.where);
        made.structured["forked_from"] = old;
        made.structured["kernel"] = kernel_json(copied.state);
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_fork_sandbox(managers& all) { return std::make_unique<fork_sandbox>(all); }

}  // namespace cmcp
