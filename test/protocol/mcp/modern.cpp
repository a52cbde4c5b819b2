#include "test/protocol/mcp/tools_for_tests.hpp"
#include "test/support/catch.hpp"

#include "mcp/input_required.hpp"
#include "mcp/reserved_names.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

class plain_prompt final : public prompt {
public:
    json::object definition() const override { return parse(R"({"name":"p","description":"d"})"); }
    awaitable<json::object> get(tool_context&, json::object) override { co_return parse(R"({"messages":[]})"); }
};

json::object raw(harness& server, json::object params, std::string method = "server/discover")
{
    jsonrpc::request incoming{1, std::move(method), std::move(params)};
    run_coroutine(server.io, harness::run(server.core, std::move(incoming), {.reply = server.sink}));
    return server.next();
}

}  // namespace

TEST_CASE("a modern request without its _meta is refused by name")
{
    harness server;
    const auto without = raw(server, {});
    CHECK(error_code(without) == rpc_code::invalid_params);
    CHECK(error_text(without).find("`_meta`") != std::string::npos);
    const auto half = raw(server, parse(R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}})"));
    CHECK(error_code(half) == rpc_code::invalid_params);
    CHECK(error_text(half).find("clientCapabilities") != std::string::npos);
}

TEST_CASE("an unsupported revision is answered with the supported ones")
{
    harness server;
    const auto response = raw(server, parse(R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"v9",
        "io.modelcontextprotocol/clientCapabilities":{}}})"));
    CHECK(error_code(response) == rpc_code::unsupported_protocol_version);
    const auto& data = response.at("error").as_object().at("data").as_object();
    CHECK(data.at("requested").as_string() == "v9");
    CHECK(data.at("supported").as_array().at(0).as_string() == "2026-07-28");
}

TEST_CASE("discovery describes the server and may be cached")
{
    harness server;
    const auto response = server.modern("server/discover");
    const auto& result = result_of(response);
    CHECK(result.at("resultType").as_string() == "complete");
    CHECK(result.at("supportedVersions").as_array().size() == 1);
    CHECK(result.at("ttlMs").as_int64() >= 0);
    CHECK(result.at("cacheScope").as_string() == "public");
    const auto& described = result.at("_meta").as_object().at(reserved_name::server_info).as_object();
    CHECK(described.at("name").as_string() == "test");
    const auto& icon = described.at("icons").as_array().at(0).as_object();
    CHECK(icon.at("src").as_string().starts_with("data:image/svg+xml;base64,PHN2Zy"));
    const auto later = result_of(server.modern("tools/list"));
    CHECK_FALSE(later.at("_meta").as_object().at(reserved_name::server_info).as_object().contains("icons"));
}

TEST_CASE("clients that show a model the object alone get text and a list of their own in this revision, too")
{
    harness server;
    add(server, "echo", echo);
    const auto asked_by = [&](std::string_view client, std::string method, json::object params) {
        json::object meta;
        meta[reserved_name::client_info] = json::object{{"name", client}, {"version", "2"}};
        params["_meta"] = std::move(meta);
        return result_of(server.modern(std::move(method), std::move(params)));
    };
    for (const auto* client : {"claude-code", "opencode", "test"}) {
        const bool own = std::string_view(client) != "test";
        INFO(client);
        const auto called = asked_by(client, "tools/call", parse(R"({"name":"echo","arguments":{"a":1}})"));
        CHECK(called.contains("structuredContent") != own);
        CHECK(called.at("content").as_array().at(0).as_object().at("text").as_string() == "a: 1");
        CHECK(asked_by(client, "tools/list", {}).at("cacheScope").as_string() == (own ? "private" : "public"));
        CHECK(asked_by(client, "server/discover", {}).at("cacheScope").as_string() == "public");
    }
}

TEST_CASE("tools have the icon of what they need, in revisions that know icons")
{
    harness server;
    add(server, "echo", echo);
    const auto modern = result_of(server.modern("tools/list"));
    CHECK(modern.at("tools").as_array().size() == 1);
    for (const auto& each : modern.at("tools").as_array()) {
        const auto& icon = each.at("icons").as_array().at(0).as_object();
        CHECK(icon.at("mimeType").as_string() == "image/svg+xml");
        CHECK(icon.at("src").as_string().starts_with("data:image/svg+xml;base64,PHN2Zy"));
    }
    server.initialize("2025-06-18");
    const auto older = result_of(server.request("tools/list"));
    CHECK_FALSE(older.at("tools").as_array().at(0).as_object().contains("icons"));
}

TEST_CASE("methods of the older revisions are gone")
{
    harness server;
    for (const char* method : {"initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/list"})
        CHECK(error_code(server.modern(method)) == rpc_code::method_not_found);
}

TEST_CASE("a question ends the call, and earlier answers travel in the signed state")
{
    harness server;
    add(server, "ask", ask_twice);
    const auto capable = parse(R"({"elicitation":{}})");
    auto params = call_params("ask");
    const auto first = server.modern("tools/call", params, capable);
    CHECK(result_of(first).at("resultType").as_string() == "input_required");
    CHECK(result_of(first).at("inputRequests").as_object().contains("first"));

    params["inputResponses"] = parse(R"({"first":{"action":"accept"},"unknown":{}})");
    const auto second = server.modern("tools/call", params, capable);
    CHECK(result_of(second).at("inputRequests").as_object().contains("second"));

    params["inputResponses"] = parse(R"({"second":{"action":"decline"}})");
    params["requestState"] = result_of(second).at("requestState");
    const auto third = server.modern("tools/call", params, capable);
    CHECK(result_of(third).at("resultType").as_string() == "complete");
    CHECK(result_of(third).at("structuredContent").as_object().at("first").as_object().at("action") == "accept");

    auto forged = params;
    forged["requestState"] = std::string(params.at("requestState").as_string()) + "x";
    CHECK(error_code(server.modern("tools/call", forged, capable)) == rpc_code::invalid_params);
    forged = params;
    forged["name"] = "other";
    CHECK(error_code(server.modern("tools/call", forged, capable)) == rpc_code::invalid_params);
}

TEST_CASE("answers that are no objects are refused")
{
    harness server;
    add(server, "ask", ask_twice);
    auto params = call_params("ask");
    for (const json::value& bad : {json::value("x"), json::value(5), json::parse(R"({"first":5})")}) {
        params["inputResponses"] = bad;
        CHECK(error_code(server.modern("tools/call", params, parse(R"({"elicitation":{}})"))) ==
              rpc_code::invalid_params);
    }
}

TEST_CASE("a question that the client cannot answer names the capability")
{
    harness server;
    add(server, "ask", ask_twice);
    const auto response = server.modern("tools/call", call_params("ask"));
    CHECK(error_code(response) == rpc_code::missing_client_capability);
    const auto& data = response.at("error").as_object().at("data").as_object();
    CHECK(data.at("requiredCapabilities").as_object().at("elicitation").is_object());
}

TEST_CASE("a listener is acknowledged, told what it asked for and dismissed with a result")
{
    harness server;
    server.core.add_prompt(std::make_unique<plain_prompt>());
    server.start_modern("subscriptions/listen", parse(R"({"notifications":{"toolsListChanged":true}})"));
    const auto first = server.next();
    CHECK(first.at("method").as_string() == "notifications/subscriptions/acknowledged");
    server.core.prompts_changed();
    add(server, "new_one", echo);
    const auto notification = server.next();
    CHECK(notification.at("method").as_string() == "notifications/tools/list_changed");
    const auto& meta = notification.at("params").as_object().at("_meta").as_object();
    CHECK(meta.at(reserved_name::subscription_id).as_int64() == 1);
    server.core.refuse_new_requests();
    const auto end = server.next();
    CHECK(result_of(end).at("resultType").as_string() == "complete");
    CHECK(server.idle());
}

TEST_CASE("log messages are sent only to who asks for them")
{
    harness server;
    add(server, "log", [](tool_context& context, json::object) -> awaitable<tool_result> {
        json::value data("hello");
        co_await context.io.log(log_severity::info, "l", std::move(data));
        co_return tool_result{};
    });
    server.start_modern("tools/call", call_params("log"));
    CHECK(server.next().contains("result"));
    auto params = call_params("log");
    params["_meta"] = parse(R"({"io.modelcontextprotocol/logLevel":"info"})");
    server.start_modern("tools/call", params);
    CHECK(server.next().at("method").as_string() == "notifications/message");
}
