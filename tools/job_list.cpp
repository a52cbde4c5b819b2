#include "tools/run_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

awaitable<tool_result> process_job_list(job_manager& jobs, tool_context& context, no_input)
{
    tool_result result;
    json::array& rows = result.structured["jobs"].emplace_array();
    for (const auto& job : jobs.list(context.who)) rows.push_back(job_json(job));
    co_return result;
}

json::object job_list_output()
{
    auto row = schema::object("", {}, {"job_id", "state"});
    add_job_properties(row["properties"].as_object());
    return schema::output({{"jobs", schema::array("", std::move(row))}, {"error", schema::string("")}}, {"jobs"});
}

}  // namespace

tool_owner make_job_list(job_manager& jobs)
{
    return make_tool<no_input>(
        {.about = {.name = "job_list",
                   .title = "List runs in the background",
                   .description = "Your jobs, the newest first: those that run and the latest that have ended.",
                   .output_schema = job_list_output(),
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
         .input = {},
         .process = std::bind_front(process_job_list, std::ref(jobs))});
}

}  // namespace cmcp
