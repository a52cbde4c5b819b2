#include "tools/job_json.hpp"
#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"

namespace cmcp {

namespace {

tool_definition job_list_definition()
{
    tool_definition made;
    made.name = "job_list";
    made.title = "List runs in the background";
    made.description = "Your jobs, the newest first: those that run and the latest that have ended.";
    made.input_schema = schema::input({});
    auto row = schema::object("", {}, {"job_id", "state"});
    row["properties"] = job_properties();
    made.output_schema =
        schema::output({{"jobs", schema::array("", std::move(row))}, {"error", schema::string("")}}, {"jobs"});
    made.annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
    return made;
}

class job_list final : public sandbox_tool {
public:
    explicit job_list(managers& all) : sandbox_tool(job_list_definition()), all_(all) {}

private:
    awaitable<tool_result> act(tool_context& context, json::object) override
    {
        tool_result made;
        json::array& rows = made.structured["jobs"].emplace_array();
        for (const auto& each : all_.jobs->list(context.who)) rows.push_back(job_json(each));
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_job_list(managers& all) { return std::make_unique<job_list>(all); }

}  // namespace cmcp
