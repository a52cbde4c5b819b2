#include "mcp/tool_registry.hpp"
#include "sandboxes/sandbox_manager.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/tools.hpp"

#include <functional>

namespace cmcp {
namespace {

json::object state_output()
{
    return schema::output({{"sandbox_id", schema::string("Its handle")},
                           {"status", schema::one_of("Its state", {"running", "stopped"})},
                           {"kept_elsewhere", schema::boolean("Whether a snapshot is outside of this server, too")}},
                          {"success", "sandbox_id", "status"});
}

awaitable<tool_result> process_pause(sandbox_manager& sandboxes, keep_sandbox keep, tool_context& context,
                                     sandbox_input input)
{
    const auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    co_await sandboxes.end_processes(context.who, where.id);
    if (keep) co_await keep(where.id);
    co_return answer_of({{"success", true},
                         {"sandbox_id", where.id},
                         {"status", "stopped"},
                         {"kept_elsewhere", static_cast<bool>(keep) && !where.passing}});
}

tool_owner make_pause_sandbox(sandbox_manager& sandboxes, keep_sandbox keep)
{
    return make_tool<sandbox_input>(
        {.about = {.name = "pause_sandbox",
                   .title = "Pause a sandbox",
                   .description = "Stop a sandbox; files and Python variables stay.",
                   .output_schema = state_output(),
                   .needs = scope::sandboxes,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field()},
         .process = std::bind_front(process_pause, std::ref(sandboxes), std::move(keep))});
}

awaitable<tool_result> process_resume(sandbox_manager& sandboxes, tool_context& context, sandbox_input input)
{
    const auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    const auto used = sandboxes.enter(where);
    co_return answer_of({{"success", true}, {"sandbox_id", where.id}, {"status", "running"}});
}

tool_owner make_resume_sandbox(sandbox_manager& sandboxes)
{
    return make_tool<sandbox_input>(
        {.about = {.name = "resume_sandbox",
                   .title = "Resume a sandbox",
                   .description = "Start a paused sandbox.",
                   .output_schema = state_output(),
                   .needs = scope::sandboxes,
                   .annotations = {.read_only = false, .destructive = false, .idempotent = true, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field()},
         .process = std::bind_front(process_resume, std::ref(sandboxes))});
}

}  // namespace

void add_pause_tools(tool_registry& registry, sandbox_manager& sandboxes, keep_sandbox keep)
{
    registry.add(make_pause_sandbox(sandboxes, std::move(keep)));
    registry.add(make_resume_sandbox(sandboxes));
}

}  // namespace cmcp
