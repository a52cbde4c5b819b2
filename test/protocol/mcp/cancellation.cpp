#include "test/protocol/mcp/tools_for_tests.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

void start_waiting(harness& server, json::value id = 1)
{
    server.start("tools/call", call_params("wait"), std::move(id));
    CHECK(server.next().at("method").as_string() == "test/begun");
}

json::object cancelled(json::value id)
{
    json::object params;
    params["requestId"] = std::move(id);
    return params;
}

}  // namespace

TEST_CASE("notifications/cancelled ends the request, which sends no response")
{
    harness server;
    add(server, "wait", wait_forever);
    server.initialize();
    start_waiting(server);
    server.notify("notifications/cancelled", cancelled(99));
    CHECK(running_waits == 1);
    server.notify("notifications/cancelled", cancelled(1));
    CHECK(server.idle());
    CHECK(running_waits == 0);
    CHECK(server.sink->messages.empty());
    CHECK(server.client->in_flight.empty());
    CHECK(server.core.requests_in_flight() == 0);
}

TEST_CASE("a string id and an integer id are different requests")
{
    harness server;
    add(server, "wait", wait_forever);
    server.initialize();
    start_waiting(server, 1);
    start_waiting(server, "1");
    server.notify("notifications/cancelled", cancelled("1"));
    CHECK_FALSE(run_coroutine(server.io, server.tasks.wait_idle(std::chrono::milliseconds(1))));
    CHECK(server.client->in_flight.size() == 1);
    server.core.cancel_all();
    CHECK(server.idle());
}

TEST_CASE("the end of a session, of the server or of the awaiting coroutine ends its requests")
{
    harness server;
    add(server, "wait", wait_forever);
    server.initialize();
    start_waiting(server);
    SECTION("session") { server.client->cancel_all(); }
    SECTION("server") { server.core.cancel_all(); }
    SECTION("coroutine") { server.tasks.cancel_all(); }
    CHECK(server.idle());
    CHECK(running_waits == 0);
    CHECK(server.sink->messages.empty());
}

TEST_CASE("cancelling the coroutine of a modern request ends its tool")
{
    harness server;
    add(server, "wait", wait_forever);
    server.start_modern("tools/call", call_params("wait"));
    server.next();
    server.tasks.cancel_all();
    CHECK(server.idle());
    CHECK(running_waits == 0);
    CHECK(server.core.requests_in_flight() == 0);
}

TEST_CASE("a question is taken back when the request that asked it is cancelled")
{
    harness server;
    add(server, "ask", ask_twice);
    server.initialize("2025-11-25", parse(R"({"elicitation":{}})"));
    server.start("tools/call", call_params("ask"));
    const auto question = server.next();
    server.notify("notifications/cancelled", cancelled(1));
    CHECK(server.idle());
    CHECK(server.client->open_requests.empty());
    const auto taken_back = server.next();
    CHECK(taken_back.at("method").as_string() == "notifications/cancelled");
    CHECK(taken_back.at("params").as_object().at("requestId") == question.at("id"));
    server.respond(question.at("id"), {});
    CHECK(server.sink->messages.empty());
}

TEST_CASE("an answered question is not taken back")
{
    harness server;
    add(server, "ask", ask_twice);
    server.initialize("2025-11-25", parse(R"({"elicitation":{}})"));
    server.start("tools/call", call_params("ask"));
    const auto first = server.next();
    server.respond(first.at("id"), parse(R"({"action":"accept"})"));
    const auto second = server.next();
    server.core.cancel_all();
    CHECK(server.idle());
    CHECK(server.sink->messages.size() == 1);
    CHECK(server.next().at("params").as_object().at("requestId") == second.at("id"));
}

TEST_CASE("an id in use is refused and the first request goes on")
{
    harness server;
    add(server, "wait", wait_forever);
    server.initialize();
    start_waiting(server);
    const auto response = server.request("ping");
    CHECK(error_code(response) == rpc_code::invalid_request);
    CHECK(error_text(response).find("`id` 1") != std::string::npos);
    CHECK(running_waits == 1);
    server.core.cancel_all();
    CHECK(server.idle());
}

TEST_CASE("requests are limited by session and by server")
{
    for (const core_limits& limits : {core_limits{100, 2, {}}, core_limits{2, 100, {}}}) {
        harness server(limits);
        add(server, "wait", wait_forever);
        server.initialize();
        start_waiting(server, 1);
        start_waiting(server, 2);
        const auto response = server.request("tools/list", {}, 3);
        CHECK(error_code(response) == rpc_code::server_busy);
        CHECK(error_text(response).find("server busy") == 0);
        server.core.cancel_all();
        CHECK(server.idle());
        CHECK(result_of(server.request("ping", {}, 3)).empty());
    }
}

TEST_CASE("a ping is answered however much the server has to do")
{
    harness server(core_limits{1, 100, {}});
    add(server, "wait", wait_forever);
    server.initialize();
    server.core.refuse_while([] { return false; });
    start_waiting(server, 1);
    CHECK(error_code(server.request("tools/list", {}, 2)) == rpc_code::server_busy);
    CHECK(result_of(server.request("ping", {}, 3)).empty());
    server.core.cancel_all();
    CHECK(server.idle());
    server.core.refuse_while([] { return true; });
    CHECK(error_code(server.request("tools/list", {}, 4)) == rpc_code::server_busy);
    CHECK(result_of(server.request("ping", {}, 5)).empty());
}

TEST_CASE("an overloaded server refuses those who have used it most, and serves others")
{
    harness server;
    const auto ask = [&server](std::string payer) {
        const auto own = std::make_shared<memory_sink>(server.io.get_executor());
        jsonrpc::request incoming{1, "tools/list", modern_params({}, {})};
        peer from{.reply = own, .payer = std::move(payer)};
        run_coroutine(server.io, harness::run(server.core, std::move(incoming), std::move(from)));
        return own->messages.back();
    };
    for (int i = 0; i < 50; ++i) result_of(ask("anna"));
    result_of(ask("ben"));
    server.core.refuse_while([] { return 1u; });
    const auto refused = ask("anna");
    CHECK(error_code(refused) == rpc_code::server_busy);
    CHECK(error_text(refused).find("requests wait too long") != std::string::npos);
    CHECK(result_of(ask("ben")).contains("tools"));
    server.core.refuse_while([] { return 16u; });
    CHECK(error_code(ask("ben")) == rpc_code::server_busy);
    CHECK(result_of(ask("carl")).contains("tools"));
    server.core.refuse_while([] { return 0u; });
    CHECK(result_of(ask("anna")).contains("tools"));
}

TEST_CASE("a stopping server says so")
{
    harness server;
    server.initialize();
    server.core.refuse_new_requests();
    CHECK(error_text(server.request("ping")).find("stopping") != std::string::npos);
    CHECK(error_text(server.modern("tools/list")).find("stopping") != std::string::npos);
}
