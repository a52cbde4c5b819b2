#include "tools/run_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

awaitable<tool_result> process_job_kill(job_manager& jobs, tool_context& context, job_input input)
{
    const auto ended = co_await jobs.kill(context.who, std::move(input.job_id));
    tool_result result;
    result.structured = job_json(ended);
    result.structured["success"] = true;
    co_return result;
}

json::object job_kill_output()
{
    auto output = schema::output({{"success", schema::boolean("It does not run any more")},
                                  {"error", schema::string("What went wrong and what to do")}},
                                 {"success", "job_id", "state"});
    add_job_properties(output["properties"].as_object());
    return output;
}

}  // namespace

tool_owner make_job_kill(job_manager& jobs)
{
    return make_tool<job_input>(
        {.about = {.name = "job_kill",
                   .title = "End a run in the background",
                   .description = "Ends a job of yours with all its processes; what it printed stays readable by "
                                  "job_poll. One that has ended stays as it is.",
                   .output_schema = job_kill_output(),
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false}},
         .input = {job_id_field()},
         .process = std::bind_front(process_job_kill, std::ref(jobs))});
}

}  // namespace cmcp
