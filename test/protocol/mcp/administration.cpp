#include "test/protocol/mcp/tools_for_tests.hpp"

#include "mcp/call_history.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

constexpr const char* sentence = "An administrator ended this call.";

awaitable<tool_result> end_badly(tool_context&, json::object arguments)
{
    tool_result result;
    result.structured = std::move(arguments);
    result.is_error = true;
    co_return result;
}

json::object end_of(std::string_view cause)
{
    return {{"code", "first\nsecond"}, {"cause", cause}, {"error", "traceback\nEnded: too much.\n"}, {"cpu_ms", 1500}};
}

std::string text_of_answer(const json::object& response) { return json::serialize(result_of(response)); }

}  // namespace

TEST_CASE("a running tool call is listed with its caller, its tool and the first line of its code")
{
    harness server;
    add(server, "wait", wait_forever);
    server.client->who.principal = "anna";
    server.initialize();
    server.start("ping", {}, 1);
    server.start("tools/call", call_params("wait", {{"code", "\n  first line\nsecond"}}), 2);
    server.next();
    const auto calls = server.core.calls();
    REQUIRE(calls.size() == 1);
    CHECK(calls[0].principal == "anna");
    CHECK(calls[0].tool == "wait");
    CHECK(calls[0].client == "test 1");
    CHECK(calls[0].first_line == "first line");
    CHECK_FALSE(calls[0].waits);
    server.core.cancel_all();
    CHECK(server.idle());
    CHECK(server.core.calls().empty());
}

TEST_CASE("a call that an administrator ends is answered with a result that says so")
{
    harness server;
    add(server, "wait", wait_forever);
    server.initialize();
    server.start("tools/call", call_params("wait"), 2);
    server.next();
    CHECK_FALSE(server.core.end_call("nothing", sentence));
    CHECK(server.core.end_call(server.core.calls().at(0).id, sentence));
    CHECK(server.idle());
    CHECK(running_waits == 0);
    const auto response = server.next();
    CHECK(result_of(response).at("isError") == true);
    CHECK(text_of_answer(response).find(sentence) != std::string::npos);
    CHECK(text_of_answer(response).find("cancelled") != std::string::npos);
}

TEST_CASE("a call that may become a task is listed and ended like another one")
{
    harness server;
    server.core.tools().add(std::make_unique<test_tool>("wait", wait_forever, R"({"type":"object"})", task_use::may));
    const auto takes_tasks = parse(R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})");
    server.start_modern("tools/call", call_params("wait", {{"command", "make"}}), takes_tasks);
    server.next();
    const auto calls = server.core.calls();
    REQUIRE(calls.size() == 1);
    CHECK(calls[0].first_line == "make");
    CHECK(server.core.end_call(calls[0].id, sentence));
    CHECK(server.idle());
    CHECK(text_of_answer(server.next()).find(sentence) != std::string::npos);
    CHECK(running_waits == 0);
}

TEST_CASE("calls that fail are remembered with cause, exit code, sentence, last lines and what was refused")
{
    harness server;
    add(server, "run", end_badly);
    server.client->who.principal = "anna";
    server.initialize();
    server.request("tools/call", call_params("run", end_of("memory_limit")), 1);
    const std::string printed = std::string(2000, 'x') + "\nlast but one\nlast\n";
    server.request("tools/call", call_params("run", {{"cause", "exited"}, {"exit_code", 3}, {"stderr", printed}}), 2);
    server.request("tools/call", call_params("run", {{"cause", "exited"}, {"denied", json::array{"writing /usr"}}}), 3);
    server.request("tools/call", call_params("run", {{"error", "no run at all"}}), 4);
    const auto& ends = server.core.history().ends().entries();
    REQUIRE(ends.size() == 4);
    CHECK(ends[0].principal == "anna");
    CHECK(ends[0].tool == "run");
    CHECK(ends[0].first_line == "first");
    CHECK(ends[0].cause == "memory_limit");
    CHECK(ends[0].sentence == "Ended: too much.");
    CHECK(ends[0].exit_code == std::nullopt);
    CHECK(ends[1].exit_code == 3);
    CHECK(ends[1].cause == "exited");
    CHECK(ends[1].last_lines == "last but one\nlast");
    CHECK(ends[2].denied == std::vector<std::string>{"writing /usr"});
    CHECK(ends[3].cause == "failed");
    CHECK(ends[3].sentence == "no run at all");
    const auto& totals = server.core.history().totals();
    REQUIRE(totals.size() == 1);
    CHECK(totals.at("anna").calls == 4);
    CHECK(totals.at("anna").failed == 4);
    CHECK(totals.at("anna").cpu_seconds == 1.5);
}

TEST_CASE("the memory of bad ends and of principals is bounded")
{
    call_history history;
    for (std::size_t i = 0; i < call_history::most_principals + 10; ++i) history.count("p" + std::to_string(i), false);
    CHECK(history.totals().size() == call_history::most_principals);
    tool_result killed;
    killed.structured["cause"] = "signalled";
    for (std::size_t i = 0; i < call_history::most_ends + 10; ++i)
        history.note_end("p", killed, [i] { return noted_call{"p", "tool " + std::to_string(i), {}, {}}; });
    CHECK(history.ends().entries().size() == call_history::most_ends);
    CHECK(history.ends().entries().front().tool == "tool 10");
    CHECK(history.ends().last() == call_history::most_ends + 10);
}

TEST_CASE("the description of a call is not asked for where its run simply exits")
{
    call_history history;
    bool was_asked = false;
    const auto describe = [&was_asked] {
        was_asked = true;
        return noted_call{};
    };
    tool_result run, other;
    run.structured = {{"cause", "exited"}, {"exit_code", 0}};
    other.structured = {{"path", "a"}};
    history.note_end("p", run, describe);
    history.note_end("p", other, describe);
    CHECK_FALSE(was_asked);
    run.structured["exit_code"] = 1;
    history.note_end("p", run, describe);
    CHECK(was_asked);
}

TEST_CASE("the history of calls has inputs and the last part of outputs, and is bounded")
{
    call_history history;
    tool_result printed;
    printed.structured = {{"stdout", std::string(100'000, 'a') + "end"}, {"stderr", "warned"}, {"exit_code", 0}};
    past_call call;
    call.input = input_of({{"sandbox_id", "one"}, {"code", "  print(1)\nprint(2)"}});
    history.note_call(call, printed);
    const auto& calls = history.calls().entries();
    CHECK(calls.front().input == "print(1)\nprint(2)");
    CHECK(calls.front().output.size() <= call_history::longest_output);
    CHECK(calls.front().output.ends_with("aaaend\nwarned"));
    CHECK_FALSE(calls.front().failed);
    printed.structured = {{"stdout", "so\n"}, {"result", json::array{1, 2}}, {"exit_code", 0}};
    history.note_call(call, printed);
    CHECK(calls.back().output == "so\n[1,2]");
    printed.structured = {{"result", nullptr}, {"error", "no such thing"}, {"exit_code", 1}};
    history.note_call(call, printed);
    CHECK(calls.back().output == "no such thing");
    CHECK(input_of({{"package_names", json::array{"six"}}}) == R"({"package_names":["six"]})");
    CHECK(input_of({{"content", std::string(100'000, 'a')}}).empty());
    for (std::size_t i = 0; i < call_history::most_calls; ++i) history.note_call({}, printed);
    CHECK(history.calls().entries().size() == call_history::most_calls);
    CHECK(calls.front().input.empty());
}
