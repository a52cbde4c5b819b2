#include "jsonrpc/json_size.hpp"
#include "jsonrpc/read_object.hpp"
#include "mcp/tool_registry.hpp"
#include "tools/run_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {
namespace {

struct job_input {
    std::string job_id;
};

field<job_input> job_id_field() { return {"job_id", &job_input::job_id, "", rule::header("Job-Id"), rule::required}; }

json::object job_json(const job_record& job)
{
    json::object shown;
    shown["job_id"] = job.id;
    shown["state"] = job.state;
    shown["tool"] = job.tool;
    shown["label"] = job.label;
    if (!job.sandbox.empty()) shown["sandbox_id"] = job.sandbox;
    shown["created"] = time_text(job.created);
    if (job.ended != 0) shown["ended"] = time_text(job.ended);
    return shown;
}

// The members of job_json(), behind those that `schema` has.
json::object with_job_properties(json::object schema)
{
    auto& properties = schema["properties"].as_object();
    properties["job_id"] = schema::string(about_job_id);
    properties["state"] = schema::one_of(
        "queued: it waits for its turn; finished: it ended by itself; lost: the server or its launcher ended while it "
        "ran",
        {"queued", "running", "finished", "killed", "failed", "lost"});
    properties["tool"] = schema::string("The tool that began it");
    properties["label"] = schema::string("The beginning of what runs");
    properties["sandbox_id"] = schema::string("Where it runs");
    properties["created"] = schema::string("ISO 8601, UTC");
    properties["ended"] = schema::string("ISO 8601, UTC");
    return schema;
}

struct job_poll_input : job_input {
    std::uint64_t cursor = 0;
    std::chrono::milliseconds wait{0};
};

// The pages of output have what the tool printed: the result does not say it again.
void leave_out_streams(json::object& outcome)
{
    for (const char* stream : {"stdout", "stderr", "output"}) outcome.erase(stream);
}

// A page whose JSON leaves half of the room to the result.
awaitable<job_view> poll_fitting(job_manager& jobs, tool_context& context, job_poll_input input)
{
    const std::size_t room = context.result_limit / 2;
    std::size_t most = room;
    for (;;) {
        auto view = co_await jobs.poll(context.who, input.job_id, input.cursor, input.wait, most);
        const auto size = jsonrpc::json_size(view.output);
        if (size <= room || most < 64) co_return view;
        most = smaller_part(most, size, room);
    }
}

// The tool's answer, as tools/call would have given it; empty while the job runs.
void add_answer(tool_result& result, const job_record& job, bool with_streams)
{
    auto answer = jsonrpc::read_object(job.result);
    json::object outcome = object_of(answer, "structuredContent");
    if (const auto* cause = outcome.if_contains("cause")) result.structured["cause"] = *cause;
    if (!with_streams) leave_out_streams(outcome);
    if (job.ended != 0) result.structured["result"] = std::move(outcome);
    auto* content = answer.if_contains("content");
    if (content == nullptr || !content->is_array()) return;
    for (auto& block : content->get_array())
        if (block.is_object() && text_of(block.get_object(), "type") == "image")
            result.content.push_back(std::move(block));
}

awaitable<tool_result> process_job_poll(job_manager& jobs, tool_context& context, job_poll_input input)
{
    auto view = co_await poll_fitting(jobs, context, std::move(input));
    tool_result result;
    result.structured = job_json(view.record);
    result.structured["output"] = view.output;
    result.structured["cursor"] = static_cast<std::int64_t>(view.cursor);
    result.structured["more"] = view.more;
    if (!view.messages.empty()) result.structured["messages"] = json::array(view.messages.begin(), view.messages.end());
    if (view.place != 0) result.structured["queue_place"] = static_cast<std::int64_t>(view.place);
    const bool is_task = view.record.keep != 0;  // its pages begin where the call became one
    add_answer(result, view.record, is_task || view.cursor == 0);
    co_return result;
}

tool_owner make_job_poll(job_manager& jobs)
{
    using input = job_poll_input;
    return make_tool<input>(
        {.about = {.name = "job_poll",
                   .title = "Look at a run in the background",
                   .description = "New output of a job, its state, at last its result.",
                   .output_schema = with_job_properties(schema::output(
                       {{"output", schema::string("What it printed since the cursor")},
                        {"cursor", schema::typed("integer", "For the next call")},
                        {"more", schema::boolean("There is more output to read at once")},
                        {"messages", schema::array("While it runs: what the server says of it", schema::string(""))},
                        {"queue_place", schema::typed("integer", "While it is queued: its place; 1 is next")},
                        {"cause", schema::string("Why it ended")},
                        {"result",
                         schema::any("What the tool would have answered beside its output, once it has ended")},
                        {"error", schema::string("What went wrong and what to do")}},
                       {"job_id", "state", "output", "cursor"})),
                   .may_show_images = true,
                   .needs = scope::read,
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
         .input = {job_id_field(),
                   {"cursor", &input::cursor, "That of the previous answer", rule::between(0, std::int64_t{1} << 60)},
                   {"wait", &input::wait, "Seconds to wait for new output", rule::between(0.0, 60.0)}},
         .process = std::bind_front(process_job_poll, std::ref(jobs))});
}

awaitable<tool_result> process_job_list(job_manager& jobs, tool_context& context, no_input)
{
    tool_result result;
    json::array& rows = result.structured["jobs"].emplace_array();
    for (const auto& job : jobs.list(context.who)) rows.push_back(job_json(job));
    co_return result;
}

tool_owner make_job_list(job_manager& jobs)
{
    return make_tool<no_input>(
        {.about = {.name = "job_list",
                   .title = "List runs in the background",
                   .description = "Your jobs, the newest first.",
                   .output_schema = schema::output(
                       {{"jobs", schema::array("", with_job_properties(schema::object("", {}, {"job_id", "state"})))},
                        {"unreachable_nodes", schema::array("Servers that do not answer now", schema::string(""))},
                        {"error", schema::string("")}},
                       {"jobs"}),
                   .needs = scope::read,
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false},
                   .gathers = {"jobs", true}},
         .input = {},
         .process = std::bind_front(process_job_list, std::ref(jobs))});
}

awaitable<tool_result> process_job_kill(job_manager& jobs, tool_context& context, job_input input)
{
    const auto ended = co_await jobs.kill(context.who, std::move(input.job_id));
    tool_result result;
    result.structured = job_json(ended);
    result.structured["success"] = true;
    co_return result;
}

tool_owner make_job_kill(job_manager& jobs)
{
    return make_tool<job_input>(
        {.about = {.name = "job_kill",
                   .title = "End a run in the background",
                   .description = "End a job; job_poll still reads its output.",
                   .output_schema =
                       with_job_properties(schema::output({{"success", schema::boolean("It does not run any more")},
                                                           {"error", schema::string("What went wrong and what to do")}},
                                                          {"success", "job_id", "state"})),
                   .needs = scope::run,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false}},
         .input = {job_id_field()},
         .process = std::bind_front(process_job_kill, std::ref(jobs))});
}

}  // namespace

void add_job_tools(tool_registry& registry, job_manager& jobs)
{
    registry.add(make_job_poll(jobs));
    registry.add(make_job_list(jobs));
    registry.add(make_job_kill(jobs));
}

}  // namespace cmcp
