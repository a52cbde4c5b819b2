#include "sandboxes/kernel_manager.hpp"
#include "tools/sandbox_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

constexpr std::int64_t highest_count = 1'000'000'000'000;

struct fork_input : sandbox_input {
    std::string name;
};

json::object kernel_json(const std::optional<kernel_transfer>& state)
{
    json::object shown{{"copied", state && state->done}};
    if (!state)
        shown["note"] = "The sandbox had no Python kernel; the new one starts with the first stateful call.";
    else if (!state->done)
        shown["note"] = state->problem + " The files were copied; the new kernel starts without variables.";
    if (!state || !state->done) return shown;
    shown["variables"] = state->variables;
    shown["figures"] = state->figures;
    shown["bytes"] = state->bytes;
    json::array left_out;
    for (const auto& one : state->left_out)
        left_out.push_back(json::object{{"name", one.name}, {"reason", one.reason}});
    shown["not_copied"] = std::move(left_out);
    return shown;
}

awaitable<tool_result> process_fork(kernel_manager& kernels, sandbox_manager& sandboxes, tool_context& context,
                                    fork_input input)
{
    auto original = sandboxes.find(context.who, input.sandbox_id);
    const std::string original_id = original.id;
    const auto copy = co_await kernels.fork(context.who, context.io, std::move(original), std::move(input.name));
    tool_result result;
    result.structured = sandbox_json(copy.where);
    result.structured["forked_from"] = original_id;
    result.structured["kernel"] = kernel_json(copy.state);
    co_return result;
}

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
                                       highest_count)},
         {"figures", schema::integer("Open figures that came along", 0, highest_count)},
         {"bytes", schema::integer("Size of what came along", 0, highest_count)},
         {"not_copied",
          schema::array("What did not come along: open files, threads, generators, …", std::move(left_out))},
         {"note", schema::string("Why there is no state")}},
        {"copied"});
}

json::object fork_output()
{
    return schema::output({{"sandbox_id", schema::string("Handle of the new one")},
                           {"name", schema::string("Its name")},
                           {"status", schema::one_of("Its state", {"running", "stopped"})},
                           {"forked_from", schema::string("Handle of the old one")},
                           {"kernel", kernel_schema()},
                           {"error", schema::string("What went wrong and what to do")}},
                          {"sandbox_id", "name", "status", "forked_from", "kernel"});
}

}  // namespace

tool_owner make_fork_sandbox(kernel_manager& kernels, sandbox_manager& sandboxes)
{
    return make_tool<fork_input>(
        {.about = {.name = "fork_sandbox",
                   .title = "Copy a sandbox",
                   .description =
                       "Make a new sandbox with a copy of another's files and packages, and where its Python "
                       "kernel lives, of the kernel's variables, imports and open figures; the two have "
                       "nothing in common afterwards.",
                   .output_schema = fork_output(),
                   .annotations = {.read_only = false, .destructive = false, .idempotent = false, .open_world = false}},
         .input = {sandbox_id_field(), {"name", &fork_input::name, "Name of the new one; made up when left out"}},
         .process = std::bind_front(process_fork, std::ref(kernels), std::ref(sandboxes))});
}

}  // namespace cmcp
