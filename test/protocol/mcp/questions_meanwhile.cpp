#include "mcp/client_capability.hpp"
#include "test/protocol/mcp/tools_for_tests.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

const json::object asking_client = parse(R"({"elicitation":{}})");
int meanwhile_begun = 0;

json::object meanwhile_params()
{
    return parse(R"({"message":"?","requestedSchema":{"type":"object","properties":{}}})");
}

// "patience" of the arguments in milliseconds; "questions": how many.
awaitable<tool_result> ask_meanwhile(tool_context& context, json::object arguments)
{
    wait_counter counted;
    ++meanwhile_begun;
    const std::chrono::milliseconds limit(arguments.at("patience").as_int64());
    const auto count = arguments.contains("questions") ? arguments.at("questions").as_int64() : 1;
    tool_result result;
    auto& answers = result.structured["answers"].emplace_array();
    if (!context.io.can_ask("elicitation/create", meanwhile_params())) co_return result;
    for (std::int64_t i = 0; i < count; ++i) {
        std::string key = "q", method = "elicitation/create";
        auto params = meanwhile_params();
        auto answer = co_await context.io.ask_meanwhile(std::move(key), std::move(method), std::move(params), limit);
        answers.push_back(answer ? answer->at("action") : json::value("none"));
    }
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer never(executor, asio::steady_timer::time_point::max());
    if (arguments.contains("forever")) co_await never.async_wait(asio::use_awaitable);
    co_return result;
}

json::object accepting() { return parse(R"({"action":"accept","content":{}})"); }

struct meanwhile_server : harness {
    explicit meanwhile_server(core_limits limits = {}) : harness(std::move(limits))
    {
        meanwhile_begun = 0;
        core.tools().add(std::make_unique<test_tool>("work", ask_meanwhile, R"({"type":"object"})", task_use::may));
    }

    json::object attempt(json::object params, json::object capabilities = asking_client)
    {
        const auto response = modern("tools/call", std::move(params), std::move(capabilities));
        return response.contains("result") ? result_of(response) : response;
    }

    json::object attempt(std::int64_t patience, std::int64_t questions = 1)
    {
        return attempt(call_params("work", json::object{{"patience", patience}, {"questions", questions}}));
    }

    // The next attempt, which answers every question.
    static json::object answered(const json::object& first)
    {
        auto params = call_params("work", json::object{{"patience", 0}});
        for (const auto& question : first.at("inputRequests").as_object())
            params["inputResponses"].is_object()
                ? params["inputResponses"].as_object()[question.key()] = accepting()
                : params["inputResponses"] = json::object{{question.key(), accepting()}};
        params["requestState"] = first.at("requestState");
        return params;
    }
};

json::array answers_in(const json::object& result)
{
    return result.at("structuredContent").as_object().at("answers").as_array();
}

constexpr std::int64_t long_patience = 3'600'000;

}  // namespace

TEST_CASE("a call of a session asks its client while it goes on")
{
    meanwhile_server server;
    server.initialize("2025-11-25", asking_client);
    server.start("tools/call", call_params("work", json::object{{"patience", long_patience}}));
    const auto question = server.next();
    CHECK(question.at("method").as_string() == "elicitation/create");
    server.respond(question.at("id"), accepting());
    CHECK(answers_in(result_of(server.next())) == json::array{"accept"});
}

TEST_CASE("a question of a session that is answered too late is taken back, and the call goes on")
{
    meanwhile_server server;
    server.initialize("2025-11-25", asking_client);
    server.start("tools/call", call_params("work", json::object{{"patience", 1}}));
    const auto question = server.next();
    const auto taken_back = server.next();
    CHECK(taken_back.at("method").as_string() == "notifications/cancelled");
    CHECK(taken_back.at("params").as_object().at("requestId") == question.at("id"));
    CHECK(answers_in(result_of(server.next())) == json::array{"none"});
    CHECK(server.idle());
    CHECK(server.sink->messages.empty());  // it is taken back once
}

TEST_CASE("a question ends the request of 2026-07-28, and its call goes on until the next attempt")
{
    meanwhile_server server;
    auto attempted = server.attempt(long_patience, 2);
    for (int i = 0; i < 2; ++i) {
        REQUIRE(attempted.at("resultType").as_string() == "input_required");
        CHECK(attempted.at("inputRequests").as_object().size() == 1);
        attempted = server.attempt(server.answered(attempted));
    }
    CHECK(attempted.at("resultType").as_string() == "complete");
    CHECK(answers_in(attempted) == json::array{"accept", "accept"});
    CHECK(meanwhile_begun == 1);
}

TEST_CASE("an attempt that is sent again gets the same result")
{
    meanwhile_server server;
    const auto attempted = server.attempt(long_patience);
    const auto first = server.attempt(server.answered(attempted));
    const auto again = server.attempt(server.answered(attempted));
    CHECK(answers_in(again) == answers_in(first));
    CHECK(meanwhile_begun == 1);
}

TEST_CASE("an attempt without an answer gets the question again, and one that comes too late gets the result")
{
    meanwhile_server server;
    const auto attempted = server.attempt(long_patience);
    auto without = server.answered(attempted);
    without.erase("inputResponses");
    const auto again = server.attempt(without);
    CHECK(again.at("inputRequests") == attempted.at("inputRequests"));
    const auto late = server.attempt(1);
    REQUIRE(run_coroutine(server.io, server.core.tasks_ended(std::chrono::milliseconds(1))) == false);
    while (running_waits > 1) server.io.run_one();
    CHECK(answers_in(server.attempt(server.answered(late))) == json::array{"none"});
}

TEST_CASE("the end of an attempt that waits ends the call")
{
    meanwhile_server server;
    const auto attempted =
        server.attempt(call_params("work", json::object{{"patience", long_patience}, {"forever", true}}));
    server.start_modern("tools/call", server.answered(attempted), asking_client);
    server.io.restart();
    server.io.poll();
    CHECK(running_waits == 1);
    server.tasks.cancel_all();
    CHECK(server.idle());
    CHECK(run_coroutine(server.io, server.core.tasks_ended(std::chrono::seconds(10))));
    CHECK(running_waits == 0);
}

TEST_CASE("a request state leads to no call that is not known any more")
{
    task_limits limits;
    limits.ttl = std::chrono::milliseconds(10);
    meanwhile_server server(core_limits{100, 100, limits});
    const auto attempted = server.attempt(1);
    while (server.attempt(server.answered(attempted)).contains("structuredContent")) server.io.run_one();
    const auto gone = server.attempt(server.answered(attempted));
    CHECK(gone.at("error").as_object().at("code").as_int64() == rpc_code::invalid_params);
    CHECK(error_text(gone).find("start over") != std::string::npos);
}

TEST_CASE("where there are too many tasks, there is no question")
{
    task_limits limits;
    limits.most = 0;
    meanwhile_server server(core_limits{100, 100, limits});
    CHECK(error_text(server.attempt(long_patience)).find("too many tasks") != std::string::npos);
}

TEST_CASE("questions go only to who takes them")
{
    meanwhile_server server;
    const auto params = call_params("work", json::object{{"patience", long_patience}});
    for (const char* capabilities : {"{}", R"({"elicitation":{"url":{}}})"})
        CHECK(answers_in(server.attempt(params, parse(capabilities))).empty());
    const auto attempted = server.attempt(params, parse(R"({"elicitation":{"form":{},"url":{}}})"));
    CHECK(attempted.at("resultType").as_string() == "input_required");
}

TEST_CASE("a client that takes tasks is given one, which waits for its answer")
{
    meanwhile_server server;
    const auto capabilities = parse(R"({"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{}})");
    const auto task = server.attempt(call_params("work", json::object{{"patience", long_patience}}), capabilities);
    REQUIRE(task.at("resultType").as_string() == "task");
    json::object which{{"taskId", task.at("taskId")}};
    const auto shown = result_of(server.modern("tasks/get", which, capabilities));
    CHECK(shown.at("status").as_string() == "input_required");
    which["inputResponses"] = json::object{{"q", accepting()}};
    server.modern("tasks/update", which, capabilities);
    CHECK(run_coroutine(server.io, server.core.tasks_ended(std::chrono::seconds(10))));
    which.erase("inputResponses");
    const auto ended = result_of(server.modern("tasks/get", which, capabilities));
    CHECK(answers_in(ended.at("result").as_object()) == json::array{"accept"});
}
