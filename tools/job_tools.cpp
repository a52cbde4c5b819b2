#include "jsonrpc/json_size.hpp"
#include "jsonrpc/read_object.hpp"
#include "mcp/result_text.hpp"
#include "mcp/tool_registry.hpp"
#include "text/terminal_text.hpp"
#include "text/words.hpp"
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
    job_patience patience() const
    {
        constexpr std::chrono::milliseconds usual(30'000);
        return {wait.value_or(until.empty() ? std::chrono::milliseconds(0) : usual), until == "end"};
    }

    std::uint64_t cursor = 0;
    std::string until;
    std::optional<std::chrono::milliseconds> wait;
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
    auto patience = input.patience();
    for (;;) {
        auto view = co_await jobs.poll(context.who, input.job_id, input.cursor, patience, most);
        const auto size = jsonrpc::json_size(view.output);
        if (size <= room || most < 64) co_return view;
        most = smaller_part(most, size, room);
        patience.longest = std::chrono::milliseconds(0);
    }
}

// What became of the job, or where its output goes on.
std::string line_of_state(const job_view& view)
{
    std::string line = view.record.state;
    if (view.queue_position != 0) line += " at position " + std::to_string(view.queue_position);
    if (view.record.ended == 0 || view.more) line += "; cursor: " + std::to_string(view.cursor);
    if (view.more) line += "; more: true";
    return line;
}

// The model knows what it began: it gets what is new, and the state.
std::string text_of_poll(const job_view& view, const json::object& outcome)
{
    auto text = as_terminal_shows(view.output);
    if (text.empty() && !view.messages.empty()) text = view.messages.back();
    add_line(text, spoken_part(outcome));
    add_line(text, line_of_state(view));
    return text;
}

void add_images(tool_result& result, json::object& answer)
{
    auto* content = answer.if_contains("content");
    if (content == nullptr || !content->is_array()) return;
    for (auto& block : content->get_array())
        if (block.is_object() && text_of(block.get_object(), "type") == "image")
            result.content.push_back(std::move(block));
}

// What the tool would have answered; pages of output that have begun before the end are not repeated in it.
json::object outcome_in(const json::object& answer, const job_view& view)
{
    const bool is_task = view.record.keep != 0;  // its pages begin where the call became one
    auto outcome = object_of(answer, "structuredContent");
    if (!is_task && view.cursor != 0) leave_out_streams(outcome);
    return outcome;
}

// The error output of system_run_python has been shown as it was printed.
json::object outcome_to_tell(json::object outcome, const job_view& view)
{
    if (view.more) return {};
    const bool printed_errors = view.record.tool == "system_run_python" && view_of(outcome, "cause") == "exited";
    if (printed_errors && view.cursor != 0) outcome.erase("error");
    return outcome;
}

awaitable<tool_result> process_job_poll(job_manager& jobs, tool_context& context, job_poll_input input)
{
    auto view = co_await poll_fitting(jobs, context, std::move(input));
    auto answer = co_await jobs.result_of(view.record);
    auto outcome = outcome_in(answer, view);
    tool_result result;
    result.structured = job_json(view.record);
    result.structured["output"] = view.output;
    result.structured["cursor"] = static_cast<std::int64_t>(view.cursor);
    result.structured["more"] = view.more;
    if (!view.messages.empty()) result.structured["messages"] = json::array(view.messages.begin(), view.messages.end());
    if (view.queue_position != 0) result.structured["queue_place"] = static_cast<std::int64_t>(view.queue_position);
    if (const auto* cause = outcome.if_contains("cause")) result.structured["cause"] = *cause;
    if (view.record.ended != 0) result.structured["result"] = outcome;
    result.text = text_of_poll(view, outcome_to_tell(std::move(outcome), view));
    if (!view.more) add_images(result, answer);
    co_return result;
}

tool_owner make_job_poll(job_manager& jobs)
{
    using input = job_poll_input;
    return make_tool<input>(
        {.about = {.name = "job_poll",
                   .title = "Look at a run in the background",
                   .description = "Read a job: its new output and state. until: end waits for its result.",
                   .output_schema = with_job_properties(schema::output(
                       {{"output", schema::string("What it printed since the cursor")},
                        {"cursor", schema::typed("integer", "For the next call")},
                        {"more", schema::boolean("There is more output to read at once")},
                        {"messages", schema::array("While it runs: what the server says of it", schema::string(""))},
                        {"queue_place", schema::typed("integer", "While it is queued: its position; 1 is next")},
                        {"cause", schema::string("Why it ended")},
                        {"result",
                         schema::any("What the tool would have answered beside its output, once it has ended")}},
                       {"job_id", "state", "output", "cursor"})),
                   .may_show_images = true,
                   .needs = scope::read,
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
         .input = {job_id_field(),
                   {"cursor", &input::cursor, "From the previous answer", rule::between(0, std::int64_t{1} << 60)},
                   {"until", &input::until, "What to wait for", rule::one_of({"output", "end"})},
                   {"wait", &input::wait, "Seconds, 30 with until", rule::between(0.0, 60.0)}},
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
                   .output_schema = with_job_properties(schema::output(
                       {{"success", schema::boolean("It does not run any more")}}, {"success", "job_id", "state"})),
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
