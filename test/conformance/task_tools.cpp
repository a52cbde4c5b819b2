// Tools whose calls go on as tasks (SEP-2663).
#include "test/conformance/fixture_tool.hpp"
#include "test/conformance/fixtures.hpp"

#include "jsonrpc/rpc_error.hpp"
#include "mcp/input_required.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

namespace cmcp::fixture {

namespace {

awaitable<> pass(std::chrono::duration<double> time)
{
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, std::chrono::duration_cast<std::chrono::milliseconds>(time));
    co_await timer.async_wait(asio::use_awaitable);
}

void become_task(tool_context& context)
{
    if (context.io.takes_task()) context.io.become_task("started");
}

json::object form_params(std::string message, std::string_view field, std::string_view type)
{
    json::object params;
    params["message"] = std::move(message);
    params["requestedSchema"] = form_with(field, type);
    return params;
}

json::object question(std::string message, std::string_view field, std::string_view type)
{
    json::object request;
    request["method"] = "elicitation/create";
    request["params"] = form_params(std::move(message), field, type);
    return request;
}

std::string text_member(const json::object& arguments, std::string_view name)
{
    const auto* value = arguments.if_contains(name);
    return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

awaitable<tool_result> greet(tool_context&, json::object arguments)
{
    co_return text_result("Hello, " + text_member(arguments, "name") + "!");
}

awaitable<tool_result> slow_compute(tool_context& context, json::object arguments)
{
    const std::chrono::duration<double> time(arguments.at("seconds").to_number<double>());
    if (time.count() > 0) become_task(context);
    co_await pass(time);
    co_return text_result("Computed " + text_member(arguments, "label"));
}

awaitable<tool_result> failing_job(tool_context& context, json::object)
{
    become_task(context);
    co_await pass(std::chrono::seconds(1));
    auto result = text_result("The job has failed");
    result.is_error = true;
    co_return result;
}

awaitable<tool_result> protocol_error_job(tool_context& context, json::object)
{
    become_task(context);
    co_await pass(std::chrono::milliseconds(50));
    throw rpc_error(rpc_code::internal_error, "The job cannot go on");
}

awaitable<tool_result> confirm_delete(tool_context& context, json::object arguments)
{
    become_task(context);
    const auto name = text_member(arguments, "filename");
    auto params = form_params("Delete " + name + "?", "confirm", "boolean");
    json::object answer = co_await context.io.ask("confirm", "elicitation/create", std::move(params));
    const bool accepted = text_member(answer, "action") == "accept";
    co_return text_result((accepted ? "Deleted " : "Kept ") + name);
}

awaitable<tool_result> multi_input(tool_context& context, json::object)
{
    become_task(context);
    if (!context.input_responses.contains("name")) {
        input_required questions;
        questions.input_requests["name"] = question("What is your name?", "name", "string");
        questions.input_requests["confirm"] = question("Go on?", "confirm", "boolean");
        throw questions;
    }
    co_return text_result("Answers: " + json::serialize(context.input_responses));
}

// Asks before it becomes a task.
awaitable<tool_result> ask_first(tool_context& context, json::object)
{
    auto params = form_params("What is your name?", "name", "string");
    json::object answer = co_await context.io.ask("user_name", "elicitation/create", std::move(params));
    become_task(context);
    co_await pass(std::chrono::milliseconds(50));
    const auto* content = answer.if_contains("content");
    const bool has_content = content && content->is_object();
    co_return text_result("Hello, " + (has_content ? text_member(content->get_object(), "name") : "stranger"));
}

constexpr std::string_view slow_schema = R"({"type":"object","properties":{"seconds":{"type":"number","minimum":0},
    "label":{"type":"string"}},"required":["seconds"]})";
constexpr std::string_view name_schema =
    R"({"type":"object","properties":{"name":{"type":"string"}},"required":["name"]})";
constexpr std::string_view file_schema =
    R"({"type":"object","properties":{"filename":{"type":"string"}},"required":["filename"]})";

}  // namespace

void add_task_tools(server_core& core)
{
    auto& tools = core.tools();
    tools.add(make_tool("greet", "Says hello at once", greet, name_schema));
    tools.add(make_tool("slow_compute", "Takes its time", slow_compute, slow_schema, task_use::may));
    tools.add(make_tool("failing_job", "Fails after a while", failing_job, {}, task_use::must));
    tools.add(make_tool("protocol_error_job", "Ends with a protocol error", protocol_error_job, {}, task_use::may));
    tools.add(make_tool("confirm_delete", "Asks while it runs", confirm_delete, file_schema, task_use::may));
    tools.add(make_tool("multi_input", "Asks two things while it runs", multi_input, {}, task_use::may));
    tools.add(make_tool("test_tool_with_task", "Asks before it becomes a task", ask_first, {}, task_use::must));
}

}  // namespace cmcp::fixture
