#include "tools/job_json.hpp"
#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

constexpr double longest_wait = 60;

tool_definition job_poll_definition()
{
    tool_definition made;
    made.name = "job_poll";
    made.title = "Look at a run in the background";
    made.description =
        "What a job printed since the cursor, its state and, once it has ended, its result. With wait it answers when "
        "there is news, "
        "at the latest after so many seconds. Call again with the cursor of the answer before.";
    made.input_schema =
        schema::input({{"job_id", job_id_schema()},
                       {"cursor", schema::integer("Where to go on; 0 is the beginning", 0, std::int64_t{1} << 60)},
                       {"wait", schema::number("Seconds to wait for news", 0, longest_wait)}},
                      {"job_id"});
    made.output_schema =
        schema::output({{"output", schema::string("What it printed since the cursor")},
                        {"cursor", json::object{{"type", "integer"}, {"description", "For the next call"}}},
                        {"more", schema::boolean("There is more output to read at once")},
                        {"messages", schema::array("While it runs: what the server says of it", schema::string(""))},
                        {"cause", schema::string("Why it ended")},
                        {"result", schema::any("What the tool would have answered, once it has ended")},
                        {"error", schema::string("What went wrong and what to do")}},
                       {"job_id", "state", "output", "cursor"});
    for (auto& member : job_properties()) made.output_schema["properties"].as_object()[member.key()] = member.value();
    made.annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
    return made;
}

class job_poll final : public sandbox_tool {
public:
    explicit job_poll(managers& all) : sandbox_tool(job_poll_definition()), all_(all) {}

private:
    awaitable<tool_result> act(tool_context& context, json::object arguments) override
    {
        const auto* cursor = arguments.if_contains("cursor");
        const auto* wait = arguments.if_contains("wait");
        const auto from = cursor == nullptr ? 0 : static_cast<std::uint64_t>(cursor->to_number<double>());
        const auto patience = std::chrono::milliseconds(
            wait == nullptr ? 0 : static_cast<std::int64_t>(wait->to_number<double>() * 1000));
        auto view = co_await all_.jobs->poll(context.who, read_string(arguments, "job_id"), from, patience);
        tool_result made;
        made.structured = job_json(view.record);
        made.structured["output"] = std::move(view.output);
        made.structured["cursor"] = static_cast<std::int64_t>(view.cursor);
        made.structured["more"] = view.more;
        if (!view.messages.empty())
            made.structured["messages"] = json::array(view.messages.begin(), view.messages.end());
        auto result = job_result(view.record);
        if (const auto* cause = result.if_contains("cause")) made.structured["cause"] = *cause;
        if (view.record.state != "running") made.structured["result"] = std::move(result);
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_job_poll(managers& all) { return std::make_unique<job_poll>(all); }

}  // namespace cmcp
