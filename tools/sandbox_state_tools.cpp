#include "kernels/kernel_manager.hpp"
#include "mcp/tool_registry.hpp"
#include "tools/sandbox_tools.hpp"
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
    auto original = co_await sandboxes.use(context.who, input.sandbox_id);
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
         {"variables",
          schema::typed("integer", "Variables that came along, imported modules, functions and classes included",
                        rule::between(0, highest_count))},
         {"figures", schema::typed("integer", "Open figures that came along", rule::between(0, highest_count))},
         {"bytes", schema::typed("integer", "Size of what came along", rule::between(0, highest_count))},
         {"not_copied",
          schema::array("What did not come along: open files, threads, generators, …", std::move(left_out))},
         {"note", schema::string("Why there is no state")}},
        {"copied"});
}

tool_owner make_fork_sandbox(kernel_manager& kernels, sandbox_manager& sandboxes)
{
    return make_tool<fork_input>(
        {.about = {.name = "fork_sandbox",
                   .title = "Copy a sandbox",
                   .description = "Copy a sandbox with files, packages and variables.",
                   .output_schema = schema::output({{"sandbox_id", schema::string("Handle of the new one")},
                                                    {"name", schema::string("Its name")},
                                                    {"status", status_schema()},
                                                    {"forked_from", schema::string("Handle of the old one")},
                                                    {"kernel", kernel_schema()}},
                                                   {"sandbox_id", "name", "status", "forked_from", "kernel"}),
                   .needs = scope::sandboxes,
                   .annotations = {.read_only = false, .destructive = false, .idempotent = false, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field(), {"name", &fork_input::name, "Of the new one"}},
         .process = std::bind_front(process_fork, std::ref(kernels), std::ref(sandboxes))});
}

struct snapshot_input : sandbox_input {
    std::string action;
    std::string name;
};

awaitable<tool_result> process_snapshot(sandbox_manager& sandboxes, tool_context& context, snapshot_input input)
{
    const auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    tool_result result;
    result.structured["success"] = true;
    if (input.action == "delete") {
        co_await sandboxes.remove_snapshot(context.who, where.id, std::move(input.name));
    } else if (input.action != "list") {
        const auto snapshot = co_await sandboxes.snapshot(context.who, where.id, std::move(input.name));
        result.structured["snapshot_id"] = snapshot.id;
        result.structured["name"] = snapshot.name;
    }
    json::array& rows = result.structured["snapshots"].emplace_array();
    for (const auto& snapshot : sandboxes.snapshots(context.who, where.id))
        rows.push_back(json::object{{"snapshot_id", snapshot.id},
                                    {"name", snapshot.name},
                                    {"created", time_text(snapshot.created)},
                                    {"disk_bytes", snapshot.disk}});
    co_return result;
}

json::object snapshot_output()
{
    auto row = schema::object("",
                              {{"snapshot_id", schema::string("")},
                               {"name", schema::string("")},
                               {"created", schema::string("ISO 8601, UTC")},
                               {"disk_bytes", schema::typed("integer", "")}},
                              {"snapshot_id", "name", "created"});
    return schema::output({{"snapshot_id", schema::string("Handle of the new one")},
                           {"name", schema::string("Its name")},
                           {"snapshots", schema::array("All of the sandbox, the oldest first", std::move(row))}},
                          {"success", "snapshots"});
}

tool_owner make_snapshot_sandbox(sandbox_manager& sandboxes)
{
    using input = snapshot_input;
    return make_tool<input>(
        {.about = {.name = "snapshot_sandbox",
                   .title = "Keep a copy of a sandbox's files",
                   .description =
                       "Keep files and packages of a sandbox for restore_sandbox; list or delete what was kept.",
                   .output_schema = snapshot_output(),
                   .needs = scope::sandboxes,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field(),
                   {"action", &input::action, "create by default", rule::one_of({"create", "list", "delete"})},
                   {"name", &input::name, "", rule::header("Snapshot-Id")}},
         .process = std::bind_front(process_snapshot, std::ref(sandboxes))});
}

struct restore_input : sandbox_input {
    std::string snapshot;
};

awaitable<tool_result> process_restore(sandbox_manager& sandboxes, tool_context& context, restore_input input)
{
    const auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    const auto snapshot = co_await sandboxes.restore(context.who, where.id, std::move(input.snapshot));
    co_return answer_of({{"success", true}, {"sandbox_id", where.id}, {"snapshot_id", snapshot.id}});
}

tool_owner make_restore_sandbox(sandbox_manager& sandboxes)
{
    return make_tool<restore_input>(
        {.about = {.name = "restore_sandbox",
                   .title = "Go back to a snapshot",
                   .description = "Restore files and packages of a sandbox from a snapshot. Running programs end.",
                   .output_schema = schema::output({{"sandbox_id", schema::string("Handle of the sandbox")},
                                                    {"snapshot_id", schema::string("Handle of the snapshot")}},
                                                   {"success", "sandbox_id", "snapshot_id"}),
                   .needs = scope::sandboxes,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field(),
                   {"snapshot", &restore_input::snapshot, "Name or handle", rule::header("Snapshot-Id"),
                    rule::required}},
         .process = std::bind_front(process_restore, std::ref(sandboxes))});
}

awaitable<tool_result> process_interrupt(kernel_manager& kernels, sandbox_manager& sandboxes, tool_context& context,
                                         sandbox_input input)
{
    const auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    co_return answer_of({{"success", true}, {"was_running", kernels.interrupt(where.id)}});
}

tool_owner make_interrupt_kernel(kernel_manager& kernels, sandbox_manager& sandboxes)
{
    return make_tool<sandbox_input>(
        {.about = {.name = "interrupt_kernel",
                   .title = "Interrupt the Python kernel of a sandbox",
                   .description = "Raise KeyboardInterrupt in running stateful code; variables stay.",
                   .output_schema = schema::output({{"was_running", schema::boolean("Whether code ran")}},
                                                   {"success", "was_running"}),
                   .needs = scope::run,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field()},
         .process = std::bind_front(process_interrupt, std::ref(kernels), std::ref(sandboxes))});
}

struct restart_input : sandbox_input {
    bool keep_variables = false;
};

awaitable<tool_result> process_restart(kernel_manager& kernels, sandbox_manager& sandboxes, tool_context& context,
                                       restart_input input)
{
    auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    const bool was_running = co_await kernels.restart(std::move(where), input.keep_variables);
    co_return answer_of({{"success", true}, {"was_running", was_running}});
}

tool_owner make_restart_kernel(kernel_manager& kernels, sandbox_manager& sandboxes)
{
    return make_tool<restart_input>(
        {.about = {.name = "restart_kernel",
                   .title = "Restart the Python kernel of a sandbox",
                   .description = "Restart the Python kernel of a sandbox. Variables are lost without keep_variables.",
                   .output_schema = schema::output({{"was_running", schema::boolean("Whether there was a kernel")}},
                                                   {"success", "was_running"}),
                   .needs = scope::run,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field(),
                   {"keep_variables", &restart_input::keep_variables, "Pass the variables on, if no code is running",
                    rule::with_default}},
         .process = std::bind_front(process_restart, std::ref(kernels), std::ref(sandboxes))});
}

}  // namespace

void add_sandbox_state_tools(tool_registry& registry, kernel_manager& kernels, sandbox_manager& sandboxes)
{
    registry.add(make_fork_sandbox(kernels, sandboxes));
    registry.add(make_snapshot_sandbox(sandboxes));
    registry.add(make_restore_sandbox(sandboxes));
    registry.add(make_interrupt_kernel(kernels, sandboxes));
    registry.add(make_restart_kernel(kernels, sandboxes));
}

}  // namespace cmcp
