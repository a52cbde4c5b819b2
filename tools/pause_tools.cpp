#include "mcp/tool_registry.hpp"
#include "sandboxes/sandbox_manager.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/tools.hpp"

#include <functional>
#include <optional>

namespace cmcp {
namespace {

sandbox_error paused_meanwhile()
{
    return {"StateError",
            "The sandbox was paused meanwhile (pause_sandbox): its processes ended, its files are kept. The next call "
            "resumes it."};
}

awaitable<tool_result> process_pause(sandbox_manager& sandboxes, tool_context& context, sandbox_input input)
{
    const auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    const auto lost = co_await sandboxes.leases().pause(where, paused_meanwhile());
    json::object answer{{"success", true},
                        {"sandbox_id", where.id},
                        {"status", "paused"},
                        {"kept_elsewhere", sandboxes.leases().keeps_elsewhere(where)}};
    if (!lost.empty()) answer["not_kept"] = json::array(lost.begin(), lost.end());
    co_return answer_of(std::move(answer));
}

tool_owner make_pause_sandbox(sandbox_manager& sandboxes)
{
    return make_tool<sandbox_input>(
        {.about = {.name = "pause_sandbox",
                   .title = "Pause a sandbox",
                   .description = "Stop a sandbox; files and Python variables stay.",
                   .output_schema = schema::output(
                       {{"sandbox_id", schema::string("Its handle")},
                        {"status", status_schema()},
                        {"kept_elsewhere", schema::boolean("Whether a snapshot is outside of this server, too")},
                        {"not_kept",
                         schema::array("What the sandbox does not have when it is resumed", schema::string(""))}},
                       {"success", "sandbox_id", "status"}),
                   .needs = scope::sandboxes,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field()},
         .process = std::bind_front(process_pause, std::ref(sandboxes))});
}

struct resume_input : sandbox_input {
    std::optional<double> timeout;
};

awaitable<tool_result> process_resume(sandbox_manager& sandboxes, tool_context& context, resume_input input)
{
    auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    const auto used = sandboxes.enter(where);
    if (input.timeout)
        sandboxes.leases().set(where.id,
                               {sandbox_manager::now() + *input.timeout, *input.timeout, where.lease.deletes});
    where = sandboxes.find(context.who, where.id);
    json::object answer{{"success", true}, {"sandbox_id", where.id}, {"status", "running"}};
    add_lease(answer, where);
    co_return answer_of(std::move(answer));
}

tool_owner make_resume_sandbox(sandbox_manager& sandboxes)
{
    return make_tool<resume_input>(
        {.about = {.name = "resume_sandbox",
                   .title = "Resume a sandbox",
                   .description = "Start a paused sandbox.",
                   .output_schema = schema::output({{"sandbox_id", schema::string("Its handle")},
                                                    {"status", status_schema()},
                                                    {"expires", schema::string(about_expires)},
                                                    {"at_timeout", at_timeout_schema()}},
                                                   {"success", "sandbox_id", "status"}),
                   .needs = scope::sandboxes,
                   .annotations = {.read_only = false, .destructive = false, .idempotent = true, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field(), unlisted(lease_field(&resume_input::timeout))},
         .process = std::bind_front(process_resume, std::ref(sandboxes))});
}

}  // namespace

void add_pause_tools(tool_registry& registry, sandbox_manager& sandboxes)
{
    registry.add(make_pause_sandbox(sandboxes));
    registry.add(make_resume_sandbox(sandboxes));
}

}  // namespace cmcp
