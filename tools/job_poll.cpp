#include "jsonrpc/read_object.hpp"
#include "tools/run_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

struct job_poll_input : job_input {
    std::uint64_t cursor = 0;
    std::chrono::milliseconds wait{0};
};

// As the tool would have answered; empty while the job runs.
json::object result_of(const job_record& job)
{
    auto answer = jsonrpc::read_object(job.result);
    auto* structured = answer.if_contains("structuredContent");
    return structured != nullptr ? std::move(structured->as_object()) : json::object();
}

awaitable<tool_result> process_job_poll(job_manager& jobs, tool_context& context, job_poll_input input)
{
    auto view = co_await jobs.poll(context.who, std::move(input.job_id), input.cursor, input.wait);
    tool_result result;
    result.structured = job_json(view.record);
    result.structured["output"] = view.output;
    result.structured["cursor"] = static_cast<std::int64_t>(view.cursor);
    result.structured["more"] = view.more;
    if (!view.messages.empty()) result.structured["messages"] = json::array(view.messages.begin(), view.messages.end());
    auto outcome = result_of(view.record);
    if (const auto* cause = outcome.if_contains("cause")) result.structured["cause"] = *cause;
    if (view.record.state != "running") result.structured["result"] = std::move(outcome);
    co_return result;
}

json::object job_poll_output()
{
    auto output =
        schema::output({{"output", schema::string("What it printed since the cursor")},
                        {"cursor", schema::typed("integer", "For the next call")},
                        {"more", schema::boolean("There is more output to read at once")},
                        {"messages", schema::array("While it runs: what the server says of it", schema::string(""))},
                        {"cause", schema::string("Why it ended")},
                        {"result", schema::any("What the tool would have answered, once it has ended")},
                        {"error", schema::string("What went wrong and what to do")}},
                       {"job_id", "state", "output", "cursor"});
    add_job_properties(output["properties"].as_object());
    return output;
}

}  // namespace

tool_owner make_job_poll(job_manager& jobs)
{
    using input = job_poll_input;
    return make_tool<input>(
        {.about = {.name = "job_poll",
                   .title = "Look at a run in the background",
                   .description = "What a job printed since the cursor, its state and, once it has ended, its result. "
                                  "With wait it answers when there is news, at the latest after so many seconds. Call "
                                  "again with the cursor of the answer before.",
                   .output_schema = job_poll_output(),
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
         .input = {job_id_field(),
                   {"cursor", &input::cursor, "Where to go on; 0 is the beginning",
                    rule::between(0, std::int64_t{1} << 60)},
                   {"wait", &input::wait, "Seconds to wait for news", rule::between(0.0, 60.0)}},
         .process = std::bind_front(process_job_poll, std::ref(jobs))});
}

}  // namespace cmcp
