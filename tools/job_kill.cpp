#include "tools/job_json.hpp"
#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

tool_definition job_kill_definition()
{
    tool_definition made;
    made.name = "job_kill";
    made.title = "End a run in the background";
    made.description =
        "Ends a job of yours with all its processes; what it printed stays readable by job_poll. One that has ended "
        "stays as it is.";
    made.input_schema = schema::input({{"job_id", job_id_schema()}}, {"job_id"});
    made.output_schema = schema::output({{"success", schema::boolean("It does not run any more")},
                                         {"error", schema::string("What went wrong and what to do")}},
                                        {"success", "job_id", "state"});
    for (auto& member : job_properties()) made.output_schema["properties"].as_object()[member.key()] = member.value();
    made.annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false};
    return made;
}

class job_kill final : public sandbox_tool {
public:
    explicit job_kill(managers& all) : sandbox_tool(job_kill_definition()), all_(all) {}

private:
    awaitable<tool_result> act(tool_context& context, json::object arguments) override
    {
        const auto ended = co_await all_.jobs->kill(context.who, read_string(arguments, "job_id"));
        tool_result made;
        made.structured = job_json(ended);
        made.structured["success"] = true;
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_job_kill(managers& all) { return std::make_unique<job_kill>(all); }

}  // namespace cmcp
