#include "test/protocol/mcp/tools_for_tests.hpp"
#include "test/support/log_lines.hpp"

#include "log/request_id.hpp"
#include "mcp/reserved_names.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

awaitable<tool_result> run_that_times_out(tool_context&, json::object)
{
    tool_result result;
    result.structured["stdout"] = "private output";
    result.structured["cause"] = "timeout";
    result.structured["exit_code"] = 137;
    result.structured["sandbox_id"] = "sbx_node_0123456789abcdef0123456789abcdef";
    result.is_error = true;
    co_return result;
}

awaitable<tool_result> refuse_with_type(tool_context&, json::object)
{
    auto result = tool_failure("There is no sandbox.");
    result.structured["error_type"] = "NotFound";
    co_return result;
}

awaitable<tool_result> become_a_task(tool_context& context, json::object)
{
    if (context.io.takes_task()) context.io.become_task("going on");
    tool_result result;
    result.structured["cause"] = "exited";
    result.structured["exit_code"] = 0;
    co_return result;
}

json::object task_capabilities() { return parse(R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})"); }

}  // namespace

TEST_CASE("a tool call of an older revision leaves one line that tells who called what and how it ended")
{
    for (const char* revision : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
        INFO(revision);
        log_lines log;
        harness server;
        server.client->who.principal = "anna";
        server.client->who.session = "the-secret-session-id";
        server.client->who.session_tag = "s-tag-1";
        add(server, "run", run_that_times_out);
        server.initialize(revision);
        server.request("tools/call", call_params("run", parse(R"({"command":"private argument"})")));
        const auto line = log.only("tool_call");
        CHECK(line.at("level") == "INFO");
        CHECK(log::is_plain_id(member_text(line, "request")));
        CHECK(line.at("principal") == "anna");
        CHECK(line.at("session") == "s-tag-1");
        CHECK(line.at("client") == "test");
        CHECK(line.at("client_version") == "1");
        CHECK(line.at("tool") == "run");
        CHECK(line.at("sandbox") == "sbx_node_0123456789abcdef0123456789abcdef");
        CHECK(line.at("cause") == "timeout");
        CHECK(line.at("exit_code") == 137);
        CHECK(line.at("ms").is_number());
        CHECK(line.at("bytes").to_number<int>() > 50);
        CHECK(log.text().find("private") == std::string::npos);
        CHECK(log.text().find("the-secret-session-id") == std::string::npos);
    }
}

TEST_CASE("a tool call of 2026-07-28 leaves the same line, without a session")
{
    log_lines log;
    harness server;
    add(server, "run", run_that_times_out);
    json::object params = call_params("run");
    params["_meta"] = json::object{{reserved_name::client_info, parse(R"({"name":"shiny","version":"2.1"})")}};
    server.modern("tools/call", std::move(params));
    const auto line = log.only("tool_call");
    CHECK(line.at("client") == "shiny");
    CHECK(line.at("client_version") == "2.1");
    CHECK(line.at("cause") == "timeout");
    CHECK_FALSE(line.contains("session"));
    CHECK_FALSE(line.contains("principal"));
}

TEST_CASE("the sandbox that a call names is in its line, an argument that can be none is not")
{
    log_lines log;
    harness server;
    add(server, "echo", echo);
    server.initialize();
    server.request("tools/call", call_params("echo", parse(R"({"sandbox_id":"my data"})")));
    server.request("tools/call", call_params("echo", parse(R"({"sandbox_id":"SELECT * FROM t"})")));
    const auto lines = log.of("tool_call");
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].at("sandbox") == "my data");
    CHECK(lines[0].at("cause") == "ok");
    CHECK_FALSE(lines[1].contains("sandbox"));
}

TEST_CASE("a call that is refused leaves a line, whoever refuses it")
{
    log_lines log;
    core_limits one_at_a_time;
    one_at_a_time.requests_in_flight = 1;
    harness server(one_at_a_time);
    add(server, "strict", echo, R"({"type":"object","required":["a"]})");
    add(server, "missing", refuse_with_type);
    add(server, "wait", wait_forever);
    server.initialize();
    server.request("tools/call", call_params("strict"));
    CHECK(log.of("tool_call").back().at("cause") == "refused");
    server.request("tools/call", call_params("missing"));
    CHECK(log.of("tool_call").back().at("cause") == "tool_error");
    CHECK(log.of("tool_call").back().at("error_type") == "NotFound");
    server.request("tools/call", call_params("no_such"));
    CHECK(log.of("tool_call").back().at("tool") == "no_such");
    CHECK(log.of("tool_call").back().at("code") == rpc_code::invalid_params);
    server.start("tools/call", call_params("wait"), 7);
    server.next();
    server.request("tools/call", call_params("missing"), 8);
    CHECK(log.of("tool_call").back().at("cause") == "refused");
    CHECK(log.of("tool_call").back().at("code") == rpc_code::server_busy);
    CHECK(log.of("tool_call").size() == 4);
    server.notify("notifications/cancelled", parse(R"({"requestId":7})"));
    CHECK(server.idle());
    CHECK(log.of("tool_call").back().at("cause") == "cancelled");
    CHECK(log.of("tool_call").back().at("tool") == "wait");
}

TEST_CASE("an internal error names the request whose line and reason the log has")
{
    log_lines log;
    harness server;
    add(server, "broken", throw_something);
    server.initialize();
    const auto response = server.request("tools/call", call_params("broken"));
    const auto line = log.only("tool_call");
    CHECK(line.at("cause") == "error");
    CHECK(error_text(response) ==
          "Internal error (request " + member_text(line, "request") + "; the server's log has the reason)");
    CHECK(log.only("request_failed").at("request") == line.at("request"));
    CHECK(log.only("request_failed").at("reason") == "secret detail");
}

TEST_CASE("the ids that a transport gives a request are those of its line")
{
    log_lines log;
    harness server;
    add(server, "echo", echo);
    server.initialize();
    jsonrpc::request incoming{1, "tools/call", call_params("echo"), {"r-start-7", "theirs"}};
    run_coroutine(server.io, harness::run(server.core, std::move(incoming), server.legacy_peer(server.sink)));
    CHECK(log.only("tool_call").at("request") == "r-start-7");
    CHECK(log.only("tool_call").at("client_request_id") == "theirs");
}

TEST_CASE("other methods leave a line at DEBUG only")
{
    log_lines log(log::level::debug);
    harness server;
    add(server, "echo", echo);
    server.initialize();
    server.request("tools/list");
    server.request("tools/call", call_params("echo"));
    CHECK(log.only("mcp_request").at("method") == "tools/list");
    CHECK(log.only("mcp_request").at("level") == "DEBUG");
    CHECK(log.only("tool_call").at("tool") == "echo");
}

TEST_CASE("a call that becomes a task leaves a line when it is answered and one when it has ended")
{
    log_lines log;
    harness server;
    server.core.tools().add(std::make_unique<test_tool>("job", become_a_task, R"({"type":"object"})", task_use::may));
    const auto answered = result_of(server.modern("tools/call", call_params("job"), task_capabilities()));
    REQUIRE(answered.at("resultType") == "task");
    CHECK(run_coroutine(server.io, server.core.tasks_ended(std::chrono::seconds(10))));
    const auto call = log.only("tool_call");
    const auto end = log.only("task_ended");
    CHECK(call.at("cause") == "task");
    CHECK(end.at("cause") == "exited");
    CHECK(end.at("exit_code") == 0);
    CHECK(end.at("task") == answered.at("taskId"));
    CHECK(call.at("task") == answered.at("taskId"));
    CHECK(call.at("request") == end.at("request"));
}

TEST_CASE("a call that could have become a task and did not leaves one line")
{
    log_lines log;
    harness server;
    server.core.tools().add(
        std::make_unique<test_tool>("run", run_that_times_out, R"({"type":"object"})", task_use::may));
    server.modern("tools/call", call_params("run"), task_capabilities());
    CHECK(log.only("tool_call").at("cause") == "timeout");
    CHECK(log.of("task_ended").empty());
}
