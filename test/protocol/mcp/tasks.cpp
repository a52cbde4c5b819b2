#include "mcp/header_check.hpp"
#include "test/protocol/mcp/tools_for_tests.hpp"
#include "test/support/catch.hpp"

#include "mcp/client_capability.hpp"
#include "mcp/input_required.hpp"

#include <cstring>

using namespace cmcp;
using namespace cmcp::test;

namespace {

const json::object capable = parse(R"({"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{}})");

json::object task_id(std::string_view id)
{
    json::object params;
    params["taskId"] = id;
    return params;
}

/// A server with one tool that may or must become a task, and a client that takes tasks.
class task_server : public harness {
public:
    explicit task_server(test_tool::function function, task_use use = task_use::may, task_limits limits = quiet())
        : harness(core_limits{100, 100, limits})
    {
        core.tools().add(std::make_unique<test_tool>("work", function, R"({"type":"object"})", use));
    }

    /// Calls do not become tasks by themselves, so no test depends on time.
    static task_limits quiet()
    {
        task_limits limits;
        limits.after = {};
        return limits;
    }

    json::object call(json::object params = call_params("work"))
    {
        return modern("tools/call", std::move(params), capable);
    }

    std::string begin()
    {
        const auto response = call();
        return std::string(result_of(response).at("taskId").as_string());
    }

    json::object send(std::string method, json::object params)
    {
        const auto response = modern(std::move(method), std::move(params), capable);
        return response.contains("result") ? result_of(response) : response;
    }

    json::object get(std::string_view id) { return send("tasks/get", task_id(id)); }
    std::string status(std::string_view id) { return std::string(get(id).at("status").as_string()); }

    json::object update(std::string_view id, json::object responses)
    {
        auto params = task_id(id);
        params["inputResponses"] = std::move(responses);
        return send("tasks/update", std::move(params));
    }

    bool tasks_end() { return run_coroutine(io, core.tasks_ended(std::chrono::seconds(10))); }

    /// Listens for a task; the acknowledgement and what follows come into `sink`.
    void listen(std::string_view id)
    {
        json::object wanted;
        wanted["taskIds"] = json::array{json::string(id)};
        json::object params;
        params["notifications"] = std::move(wanted);
        start_modern("subscriptions/listen", std::move(params), capable);
    }
};

awaitable<tool_result> become_and_wait(tool_context& context, json::object)
{
    wait_counter counted;
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer never(executor, asio::steady_timer::time_point::max());
    context.io.become_task("begun");
    co_await never.async_wait(asio::use_awaitable);
    co_return tool_result{};
}

awaitable<tool_result> become_if_taken(tool_context& context, json::object)
{
    tool_result result;
    result.structured["task"] = context.io.takes_task();
    if (context.io.takes_task()) context.io.become_task({});
    co_return result;
}

awaitable<> short_wait()
{
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, std::chrono::milliseconds(5));
    co_await timer.async_wait(asio::use_awaitable);
}

awaitable<tool_result> short_pause(tool_context&, json::object arguments)
{
    co_await short_wait();
    co_await short_wait();
    tool_result result;
    result.structured = std::move(arguments);
    co_return result;
}

awaitable<tool_result> become_and_return(tool_context& context, json::object)
{
    context.io.become_task("begun");
    tool_result result;
    result.structured["answer"] = 42;
    co_return result;
}

awaitable<tool_result> become_and_throw(tool_context& context, json::object)
{
    context.io.become_task("begun");
    throw rpc_error(rpc_code::internal_error, "it broke");
    co_return tool_result{};
}

awaitable<tool_result> become_and_ask_twice(tool_context& context, json::object)
{
    context.io.become_task({});
    tool_result result;
    for (const char* member : {"first", "second"}) {
        json::object params = parse(R"({"message":"?","requestedSchema":{"type":"object","properties":{}}})");
        json::object answer = co_await context.io.ask("question", "elicitation/create", std::move(params));
        result.structured[member] = std::move(answer);
    }
    co_return result;
}

awaitable<tool_result> become_and_ask_two_at_once(tool_context& context, json::object)
{
    context.io.become_task({});
    tool_result result;
    result.structured = context.input_responses;
    if (!result.structured.empty()) co_return result;
    input_required questions;
    const json::object question = parse(R"({"method":"elicitation/create",
        "params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}})");
    for (const char* key : {"a", "b"}) questions.input_requests[key] = question;
    throw questions;
}

awaitable<tool_result> report_and_wait(tool_context& context, json::object)
{
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer never(executor, asio::steady_timer::time_point::max());
    context.io.become_task("begun");
    std::string text = "compiling\nlinking  \n\n";
    co_await context.io.progress(1, std::nullopt, std::move(text));
    json::value data = "waiting for a place";
    co_await context.io.log(log_severity::emergency, "test", std::move(data));
    co_await never.async_wait(asio::use_awaitable);
    co_return tool_result{};
}

awaitable<tool_result> print_and_wait(tool_context& context, json::object)
{
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer never(executor, asio::steady_timer::time_point::max());
    context.io.become_task("begun");
    std::uint64_t offset = 0;
    for (const char* text : {"epoch 1\nepo", "ch 2", "\n\n"}) {
        std::vector<output_text> texts{{output_stream::out, offset, text}};
        co_await context.io.output(1, std::move(texts));
        offset += std::strlen(text);
    }
    std::string no_message;
    co_await context.io.progress(2, std::nullopt, std::move(no_message));
    co_await never.async_wait(asio::use_awaitable);
    co_return tool_result{};
}

awaitable<tool_result> report_and_return(tool_context& context, json::object)
{
    std::string text = "half";
    co_await context.io.progress(1, std::nullopt, std::move(text));
    co_return tool_result{};
}

awaitable<tool_result> ask_then_become(tool_context& context, json::object)
{
    json::object params = parse(R"({"message":"?","requestedSchema":{"type":"object","properties":{}}})");
    json::object answer = co_await context.io.ask("name", "elicitation/create", std::move(params));
    context.io.become_task({});
    tool_result result;
    result.structured = std::move(answer);
    co_return result;
}

json::object named(std::string_view name)
{
    json::object answer;
    answer["action"] = name;
    return answer;
}

}  // namespace

TEST_CASE("a call becomes a task whose result is fetched later")
{
    task_server server(become_and_return);
    const auto created = server.call();
    const auto& handle = result_of(created);
    CHECK(handle.at("resultType").as_string() == "task");
    const std::string id(handle.at("taskId").as_string());
    CHECK(handle_maker::fits("job", id));
    for (const char* member : {"result", "error", "inputRequests", "requestState", "ttl"})
        CHECK_FALSE(handle.contains(member));
    CHECK(server.tasks_end());
    const auto ended = server.get(id);
    CHECK(ended.at("resultType").as_string() == "complete");
    CHECK(ended.at("status").as_string() == "completed");
    CHECK(ended.at("ttlMs").as_int64() >= 3'600'000);
    CHECK(ended.at("pollIntervalMs").as_int64() > 0);
    const auto& result = ended.at("result").as_object();
    CHECK(result.at("structuredContent").as_object().at("answer").as_int64() == 42);
    CHECK(result.at("resultType").as_string() == "complete");
}

TEST_CASE("a tool that becomes no task answers as ever")
{
    task_server server(echo);
    auto params = call_params("work", parse(R"({"x":1})"));
    const auto response = server.call(std::move(params));
    CHECK(result_of(response).at("resultType").as_string() == "complete");
    CHECK(result_of(response).at("structuredContent").as_object().at("x").as_int64() == 1);
}

TEST_CASE("a protocol error in a task makes it fail, with the error")
{
    task_server server(become_and_throw);
    const auto id = server.begin();
    CHECK(server.tasks_end());
    const auto ended = server.get(id);
    CHECK(ended.at("status").as_string() == "failed");
    CHECK(ended.at("error").as_object().at("code").as_int64() == rpc_code::internal_error);
    CHECK(ended.at("error").as_object().at("message").as_string() == "it broke");
    CHECK(ended.at("statusMessage").as_string() == "it broke");
    CHECK_FALSE(ended.contains("result"));
}

TEST_CASE("a task is cancelled, and cancelling it again is acknowledged")
{
    task_server server(become_and_wait);
    const auto id = server.begin();
    CHECK(running_waits == 1);
    CHECK(server.status(id) == "working");
    const auto acknowledged = server.send("tasks/cancel", task_id(id));
    CHECK(acknowledged.at("resultType").as_string() == "complete");
    CHECK_FALSE(acknowledged.contains("taskId"));
    CHECK(server.tasks_end());
    CHECK(running_waits == 0);
    CHECK(server.status(id) == "cancelled");
    CHECK(server.send("tasks/cancel", task_id(id)).at("resultType").as_string() == "complete");
}

TEST_CASE("a task outlives the connection that began it")
{
    task_server server(become_and_wait);
    server.start_modern("tools/call", call_params("work"), capable);
    const auto created = server.next();
    const std::string id(result_of(created).at("taskId").as_string());
    server.tasks.cancel_all();
    CHECK(server.idle());
    CHECK(running_waits == 1);
    CHECK(server.core.requests_in_flight() == 0);
    server.send("tasks/cancel", task_id(id));
    CHECK(server.tasks_end());
}

TEST_CASE("a call that may become a task but has not is cancelled with its request")
{
    task_server server(wait_forever);
    server.start_modern("tools/call", call_params("work"), capable);
    CHECK(server.next().at("method").as_string() == "test/begun");
    server.tasks.cancel_all();
    CHECK(server.idle());
    CHECK(running_waits == 0);
    CHECK(server.sink->messages.empty());
}

TEST_CASE("a long call becomes a task by itself, unless the caller watches its progress")
{
    auto limits = task_server::quiet();
    limits.after = std::chrono::milliseconds(1);
    task_server server(wait_forever, task_use::may, limits);
    SECTION("nobody watches")
    {
        const auto id = server.begin();
        CHECK(server.status(id) == "working");
    }
    SECTION("somebody watches")
    {
        auto params = call_params("work");
        params["_meta"] = parse(R"({"progressToken":1})");
        server.start_modern("tools/call", std::move(params), capable);
        server.next();
        run_coroutine(server.io, server.tasks.wait_idle(std::chrono::milliseconds(20)));
        CHECK(server.sink->messages.empty());
    }
    server.core.cancel_all();
    server.core.refuse_new_requests();
    CHECK(server.idle());
    CHECK(server.tasks_end());
    CHECK(running_waits == 0);
}

TEST_CASE("callers that do not take tasks get results, or an error that names the extension")
{
    const auto declared = parse(R"({"elicitation":{}})");
    SECTION("may")
    {
        task_server server(become_if_taken);
        const auto response = server.modern("tools/call", call_params("work"), declared);
        CHECK(result_of(response).at("structuredContent").as_object().at("task").as_bool() == false);
    }
    SECTION("must")
    {
        task_server server(become_if_taken, task_use::must);
        const auto response = server.modern("tools/call", call_params("work"), declared);
        CHECK(error_code(response) == rpc_code::missing_client_capability);
        const auto& data = response.at("error").as_object().at("data").as_object();
        const auto& needed = data.at("requiredCapabilities").as_object();
        CHECK(needed.at("extensions").as_object().contains(tasks_extension));
    }
    SECTION("must, older revisions")
    {
        task_server server(become_if_taken, task_use::must);
        server.initialize();
        const auto response = server.request("tools/call", call_params("work"));
        CHECK(error_code(response) == rpc_code::method_not_found);
        CHECK(error_text(response).find("work runs only as a task") != std::string::npos);
    }
    SECTION("methods")
    {
        task_server server(become_if_taken);
        for (const char* method : {"tasks/get", "tasks/update", "tasks/cancel"})
            CHECK(error_code(server.modern(method, task_id("x"), declared)) == rpc_code::missing_client_capability);
    }
}

TEST_CASE("the extension is advertised where a tool uses it, and only to the current revision")
{
    task_server server(echo);
    const auto with = server.modern("server/discover");
    CHECK(result_of(with).at("capabilities").as_object().at("extensions").as_object().contains(tasks_extension));
    harness plain;
    const auto without = plain.modern("server/discover");
    CHECK_FALSE(result_of(without).at("capabilities").as_object().contains("extensions"));
    CHECK(error_code(plain.modern("tasks/get", task_id("x"), capable)) == rpc_code::method_not_found);
    server.initialize();
    CHECK(error_code(server.request("tasks/get", task_id("x"))) == rpc_code::method_not_found);
}

TEST_CASE("a task's question is answered with tasks/update, under a key that is never used again")
{
    task_server server(become_and_ask_twice);
    const auto id = server.begin();
    auto waiting = server.get(id);
    CHECK(waiting.at("status").as_string() == "input_required");
    const auto& question = waiting.at("inputRequests").as_object().at("question").as_object();
    CHECK(question.at("method").as_string() == "elicitation/create");
    CHECK(server.update(id, parse(R"({"question":{"action":"first"}})")).at("resultType").as_string() == "complete");
    waiting = server.get(id);
    CHECK(waiting.at("inputRequests").as_object().size() == 1);
    CHECK(waiting.at("inputRequests").as_object().contains("question-2"));
    server.update(id, parse(R"({"question":{"action":"again"},"unknown":{}})"));
    CHECK(server.status(id) == "input_required");
    server.update(id, parse(R"({"question-2":{"action":"second"}})"));
    CHECK(server.tasks_end());
    const auto ended = server.get(id);
    const auto& result = ended.at("result").as_object().at("structuredContent").as_object();
    CHECK(result.at("first").as_object() == named("first"));
    CHECK(result.at("second").as_object() == named("second"));
}

TEST_CASE("several questions of a task are answered one by one")
{
    task_server server(become_and_ask_two_at_once);
    const auto id = server.begin();
    CHECK(server.get(id).at("inputRequests").as_object().size() == 2);
    server.update(id, parse(R"({"b":{"action":"b"}})"));
    const auto half = server.get(id);
    CHECK(half.at("status").as_string() == "input_required");
    CHECK(half.at("inputRequests").as_object().size() == 1);
    CHECK(half.at("inputRequests").as_object().contains("a"));
    server.update(id, parse(R"({"a":{"action":"a"}})"));
    CHECK(server.tasks_end());
    const auto ended = server.get(id);
    CHECK(ended.at("result").as_object().at("structuredContent").as_object().size() == 2);
}

TEST_CASE("a malformed answer is refused by name and the task goes on waiting")
{
    task_server server(become_and_ask_two_at_once);
    const auto id = server.begin();
    const auto refused = server.update(id, parse(R"({"a":{"action":"a"},"b":3})"));
    CHECK(error_code(refused) == rpc_code::invalid_params);
    CHECK(error_text(refused).find("inputResponses.b") != std::string::npos);
    CHECK(server.get(id).at("inputRequests").as_object().size() == 2);
}

TEST_CASE("a task that waits for an answer can be cancelled")
{
    task_server server(become_and_ask_twice);
    const auto id = server.begin();
    server.send("tasks/cancel", task_id(id));
    CHECK(server.tasks_end());
    CHECK(server.status(id) == "cancelled");
}

TEST_CASE("a tool may ask before it becomes a task")
{
    task_server server(ask_then_become);
    const auto first = server.call();
    CHECK(result_of(first).at("resultType").as_string() == "input_required");
    CHECK_FALSE(result_of(first).contains("taskId"));
    auto params = call_params("work");
    params["inputResponses"] = parse(R"({"name":{"action":"Alice"}})");
    const auto second = server.call(std::move(params));
    CHECK(result_of(second).at("resultType").as_string() == "task");
    CHECK_FALSE(result_of(second).contains("requestState"));
    CHECK(server.tasks_end());
    const auto ended = server.get(result_of(second).at("taskId").as_string());
    CHECK(ended.at("result").as_object().at("structuredContent").as_object() == named("Alice"));
}

TEST_CASE("a task's status message is the last line that it printed, whole, and stays over heartbeats")
{
    task_server server(print_and_wait);
    const auto id = server.begin();
    CHECK(server.get(id).at("statusMessage").as_string() == "epoch 2");
    server.send("tasks/cancel", task_id(id));
    CHECK(server.tasks_end());
}

TEST_CASE("progress and log messages of a task are its status message; nothing else is sent")
{
    task_server server(report_and_wait);
    auto params = call_params("work");
    params["_meta"] = parse(R"({"progressToken":1,"io.modelcontextprotocol/logLevel":"debug"})");
    server.start_modern("tools/call", std::move(params), capable);
    const auto created = server.next();
    const std::string id(result_of(created).at("taskId").as_string());
    CHECK(server.get(id).at("statusMessage").as_string() == "waiting for a place");
    CHECK(server.sink->messages.empty());
    server.send("tasks/cancel", task_id(id));
    CHECK(server.tasks_end());
}

TEST_CASE("a call that may become a task sends progress only to who asked for it")
{
    task_server server(report_and_return);
    const bool wants_progress = GENERATE(true, false);
    auto params = call_params("work");
    if (wants_progress) params["_meta"] = parse(R"({"progressToken":"p"})");
    server.start_modern("tools/call", std::move(params), capable);
    CHECK(server.idle());
    CHECK(server.sink->messages.size() == (wants_progress ? 2 : 1));
    if (wants_progress) CHECK(server.next().at("params").as_object().at("progressToken").as_string() == "p");
    CHECK(result_of(server.next()).at("resultType").as_string() == "complete");
}

TEST_CASE("a task belongs to the caller that began it")
{
    task_server server(become_and_wait);
    const auto id = server.begin();
    const auto own = std::make_shared<memory_sink>(server.io.get_executor());
    for (const char* method : {"tasks/get", "tasks/cancel"}) {
        jsonrpc::request foreign{1, method, modern_params(task_id(id), capable)};
        peer stranger{.reply = own};
        stranger.who.principal = "somebody else";
        run_coroutine(server.io, harness::run(server.core, std::move(foreign), std::move(stranger)));
        const auto unknown = server.modern(method, task_id("unknown"), capable);
        CHECK(error_code(own->messages.back()) == rpc_code::invalid_params);
        CHECK(error_text(own->messages.back()) == error_text(unknown));
    }
    CHECK(server.status(id) == "working");
    server.core.refuse_new_requests();
    CHECK(server.tasks_end());
}

TEST_CASE("tasks are limited by caller and by server")
{
    auto limits = task_server::quiet();
    const bool by_caller = GENERATE(true, false);
    if (by_caller)
        limits.of_caller = [](std::string_view) { return 2; };
    else
        limits.most = 2;
    task_server server(become_and_wait, task_use::may, limits);
    const auto first = server.begin();
    server.begin();
    const auto refused = server.call();
    CHECK(error_code(refused) == rpc_code::server_error);
    CHECK(error_text(refused).find(by_caller ? "quota of tasks" : "the server has 2") != std::string::npos);
    CHECK(running_waits == 2);
    server.core.refuse_new_requests();
    CHECK(server.tasks_end());
}

TEST_CASE("results that fill their memory leave no room for more tasks")
{
    auto limits = task_server::quiet();
    limits.result_bytes = 10;
    task_server server(become_and_return, task_use::may, limits);
    server.begin();
    CHECK(server.tasks_end());
    CHECK(error_text(server.call()).find("room") != std::string::npos);
}

TEST_CASE("a long call stays an ordinary call when there is no room for a task")
{
    auto limits = task_server::quiet();
    limits.after = std::chrono::milliseconds(1);
    limits.most = 0;
    task_server server(short_pause, task_use::may, limits);
    CHECK(result_of(server.call()).at("resultType").as_string() == "complete");
}

TEST_CASE("an ended task is forgotten after its time, a working one is not")
{
    auto limits = task_server::quiet();
    limits.ttl = std::chrono::milliseconds(30);
    SECTION("ended")
    {
        task_server server(become_and_return, task_use::may, limits);
        const auto id = server.begin();
        CHECK(server.tasks_end());
        while (server.get(id).contains("status")) run_coroutine(server.io, short_wait());
        CHECK(error_code(server.get(id)) == rpc_code::invalid_params);
    }
    SECTION("working")
    {
        task_server server(become_and_wait, task_use::may, limits);
        const auto id = server.begin();
        while (server.get(id).at("ttlMs").as_int64() < 60) run_coroutine(server.io, short_wait());
        CHECK(server.status(id) == "working");
        server.core.refuse_new_requests();
        CHECK(server.tasks_end());
    }
    SECTION("waiting for the client")
    {
        task_server server(become_and_ask_twice, task_use::may, limits);
        const auto id = server.begin();
        CHECK(server.tasks_end());
        const auto ended = server.get(id);
        CHECK(ended.at("status").as_string() == "failed");
        CHECK(ended.at("statusMessage").as_string().find("did not answer") != std::string::npos);
    }
}

TEST_CASE("who listens for a task is told how it stands and when that changes")
{
    task_server server(become_and_ask_twice);
    const auto id = server.begin();
    server.listen(id);
    const auto acknowledged = server.next();
    const auto& agreed = acknowledged.at("params").as_object().at("notifications").as_object();
    CHECK(agreed.at("taskIds").as_array().at(0).as_string() == id);
    const auto first = server.next();
    CHECK(first.at("method").as_string() == "notifications/tasks");
    CHECK(first.at("params").as_object().at("status").as_string() == "input_required");
    CHECK(first.at("params").as_object().at("_meta").as_object().contains("io.modelcontextprotocol/subscriptionId"));
    server.send("tasks/cancel", task_id(id));
    const auto last = server.next();
    CHECK(last.at("params").as_object().at("status").as_string() == "cancelled");
    CHECK(last.at("params").as_object().at("taskId").as_string() == id);
    server.core.refuse_new_requests();
    CHECK(server.idle());
}

TEST_CASE("nobody can listen for a task that is not theirs, or without the extension")
{
    task_server server(become_and_wait);
    const auto id = server.begin();
    server.listen("unknown");
    const auto acknowledged = server.next();
    CHECK(acknowledged.at("params").as_object().at("notifications").as_object().empty());
    const auto refused = server.modern("subscriptions/listen", parse(R"({"notifications":{"taskIds":["x"]}})"));
    CHECK(error_code(refused) == rpc_code::missing_client_capability);
    server.core.refuse_new_requests();
    CHECK(server.idle());
    CHECK(server.tasks_end());
}

TEST_CASE("a stopping server ends its tasks and takes no new ones")
{
    task_server server(become_and_wait);
    server.begin();
    server.core.refuse_new_requests();
    CHECK(server.tasks_end());
    CHECK(running_waits == 0);
}

TEST_CASE("a server that goes away ends its tasks")
{
    auto server = std::make_unique<harness>();
    auto item = std::make_unique<test_tool>("work", become_and_wait, R"({"type":"object"})", task_use::may);
    server->core.tools().add(std::move(item));
    server->modern("tools/call", call_params("work"), capable);
    CHECK(running_waits == 1);
    server.reset();
    CHECK(running_waits == 0);
}

TEST_CASE("the id of a task is repeated in a header")
{
    task_server server(echo);
    for (const char* method : {"tasks/get", "tasks/update", "tasks/cancel"}) {
        const jsonrpc::request incoming{1, method, modern_params(task_id("abc"), capable)};
        for (const char* name : {"abc", "other", ""}) {
            const auto header = [method, name](std::string_view wanted) -> std::optional<std::string_view> {
                if (wanted == "MCP-Protocol-Version") return "2026-07-28";
                if (wanted == "Mcp-Method") return method;
                if (wanted == "Mcp-Name" && *name) return name;
                return std::nullopt;
            };
            const auto mismatch = header_mismatch(server.core.tools(), incoming, header);
            CHECK(mismatch.has_value() == (name != std::string("abc")));
            if (mismatch) CHECK(mismatch->code == rpc_code::header_mismatch);
        }
    }
}
