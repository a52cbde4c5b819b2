#include "mcp/definitions.hpp"
#include "test/protocol/mcp/tools_for_tests.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

awaitable<tool_result> picture(tool_context&, json::object arguments)
{
    tool_result result;
    result.structured = std::move(arguments);
    result.content.push_back(parse(R"({"type":"image","data":"AAAA","mimeType":"image/png"})"));
    co_return result;
}

}  // namespace

TEST_CASE("initialize echoes a known revision and offers the newest for an unknown one")
{
    for (const auto& [requested, expected] : std::map<std::string, std::string>{{"2024-11-05", "2024-11-05"},
                                                                                {"2025-06-18", "2025-06-18"},
                                                                                {"2026-07-28", "2025-11-25"},
                                                                                {"1999-01-01", "2025-11-25"}}) {
        harness server;
        json::object params;
        params["protocolVersion"] = requested;
        const auto response = server.request("initialize", params);
        CHECK(result_of(response).at("protocolVersion").as_string() == expected);
        CHECK(result_of(response).at("instructions").as_string() == "how to use it");
        const bool has_icon = result_of(response).at("serverInfo").as_object().contains("icons");
        CHECK(has_icon == (expected == "2025-11-25"));
    }
}

TEST_CASE("initialize names what it misses")
{
    harness server;
    const auto response = server.request("initialize");
    CHECK(error_code(response) == rpc_code::invalid_params);
    CHECK(error_text(response).find("`protocolVersion`") != std::string::npos);
}

TEST_CASE("a session is initialized once")
{
    harness server;
    server.initialize();
    json::object params;
    params["protocolVersion"] = "2025-11-25";
    CHECK(error_code(server.request("initialize", params)) == rpc_code::invalid_request);
}

TEST_CASE("before initialize only ping is answered")
{
    harness server;
    CHECK(result_of(server.request("ping")).empty());
    const auto refused = server.request("tools/list");
    CHECK(error_code(refused) == rpc_code::invalid_request);
    CHECK(error_text(refused).find("initialize") != std::string::npos);
    CHECK(error_code(server.request("server/discover")) == rpc_code::method_not_found);
}

TEST_CASE("an unknown method is named")
{
    harness server;
    server.initialize();
    const auto response = server.request("no/such");
    CHECK(error_code(response) == rpc_code::method_not_found);
    CHECK(error_text(response) == "Method not found: no/such");
}

TEST_CASE("tools are listed in the order in which they were added")
{
    harness server;
    for (const char* name : {"zebra", "ant", "mouse"}) add(server, name, echo);
    server.initialize();
    std::string names;
    const auto response = server.request("tools/list");
    for (const auto& item : result_of(response).at("tools").as_array())
        names += std::string(item.as_object().at("name").as_string()) + " ";
    CHECK(names == "zebra ant mouse ");
}

TEST_CASE("a long list comes in pages whose cursors are checked")
{
    harness server;
    for (int i = 0; i < 450; ++i) add(server, "tool_" + std::to_string(i), echo);
    server.initialize();
    std::size_t seen = 0;
    int pages = 0;
    json::object params;
    while (true) {
        const auto response = server.request("tools/list", params);
        seen += result_of(response).at("tools").as_array().size();
        ++pages;
        const auto* next = result_of(response).if_contains("nextCursor");
        if (!next) break;
        params["cursor"] = *next;
    }
    CHECK(seen == 450);
    CHECK(pages == 3);
    for (const json::value& bad : {json::value("abc"), json::value(5), json::value("cHJvbXB0czowAA==")}) {
        params["cursor"] = bad;
        CHECK(error_code(server.request("tools/list", params)) == rpc_code::invalid_params);
    }
}

TEST_CASE("results are text, JSON or both, by revision, client and setting")
{
    struct row {
        const char* revision;
        const char* client;
        result_format format;
        bool json;    // as text
        bool object;  // structuredContent
    };
    using enum result_format;
    const row rows[] = {{"2024-11-05", "test", automatic, true, false},
                        {"2025-03-26", "claude-code", automatic, false, false},
                        {"2025-06-18", "test", automatic, false, true},
                        {"2025-11-25", "test", automatic, false, true},
                        {"2025-11-25", "claude-code", automatic, false, false},
                        {"2025-06-18", "Visual Studio Code - Insiders", automatic, false, false},
                        {"2025-06-18", "opencoder", automatic, false, true},
                        {"2025-11-25", "test", text, false, false},
                        {"2024-11-05", "test", text, false, false},
                        {"2025-11-25", "claude-code", result_format::json, true, true},
                        {"2024-11-05", "test", result_format::json, true, false}};
    for (const auto& each : rows) {
        core_limits limits;
        limits.format = each.format;
        harness server(limits);
        add(server, "echo", echo);
        json::object hello{{"protocolVersion", each.revision}, {"clientInfo", json::object{{"name", each.client}}}};
        server.request("initialize", hello);
        const auto response = server.request("tools/call", call_params("echo", parse(R"({"a":1})")));
        const auto& result = result_of(response);
        INFO(each.revision << " " << each.client);
        CHECK(result.at("content").as_array().at(0).as_object().at("text").as_string() ==
              (each.json ? R"({"a":1})" : "a: 1"));
        CHECK(result.contains("structuredContent") == each.object);
        CHECK_FALSE(result.contains("isError"));
    }
}

TEST_CASE("a result with images has no structuredContent, and its tool no output schema")
{
    for (const bool shows : {true, false}) {
        harness server;
        add(server, "draw", shows ? picture : echo);
        server.initialize();
        const auto response = server.request("tools/call", call_params("draw", parse(R"({"a":1})")));
        const auto& result = result_of(response);
        const auto& content = result.at("content").as_array();
        CHECK(result.contains("structuredContent") != shows);
        CHECK(content.size() == (shows ? 2 : 1));
        CHECK(content.at(0).as_object().at("text").as_string() == "a: 1");
        CHECK((content.back().as_object().at("type") == "image") == shows);
    }
    tool_definition drawing;
    drawing.name = "draw";
    drawing.output_schema = parse(R"({"type":"object"})");
    caller who;
    CHECK(describe_tool(drawing, who, result_format::automatic).contains("outputSchema"));
    CHECK_FALSE(describe_tool(drawing, who, result_format::text).contains("outputSchema"));
    who.client_info["name"] = "opencode";
    CHECK_FALSE(describe_tool(drawing, who, result_format::automatic).contains("outputSchema"));
    who.client_info.clear();
    drawing.may_show_images = true;
    CHECK_FALSE(describe_tool(drawing, who, result_format::automatic).contains("outputSchema"));
    tool_result seen;
    seen.structured = parse(R"({"a":1})");
    seen.content.push_back(parse(R"({"type":"image","data":"","mimeType":"image/png"})"));
    CHECK(describe_tool_result(seen, who, result_format::automatic, result_reader::program)
              .contains("structuredContent"));
}

TEST_CASE("an old revision is not sent what it does not know")
{
    harness server;
    add(server, "echo", echo);
    server.initialize("2024-11-05");
    const auto called = server.request("tools/call", call_params("echo", parse(R"({"a":1})")));
    CHECK_FALSE(result_of(called).contains("structuredContent"));
    const auto listed = server.request("tools/list");
    const auto& tool = result_of(listed).at("tools").as_array().at(0).as_object();
    CHECK_FALSE(tool.contains("annotations"));
    CHECK_FALSE(tool.contains("outputSchema"));
}

TEST_CASE("an unknown tool is named")
{
    harness server;
    server.initialize();
    const auto response = server.request("tools/call", call_params("nothing"));
    CHECK(error_code(response) == rpc_code::invalid_params);
    CHECK(error_text(response) == "Unknown tool: nothing");
}

TEST_CASE("bad arguments are a result since 2025-11-25 and an error before")
{
    constexpr auto schema = R"({"type":"object","properties":{"n":{"type":"integer","minimum":0}},"required":["n"]})";
    for (const auto& revision : {"2025-06-18", "2025-11-25"}) {
        harness server;
        add(server, "count", echo, schema);
        server.initialize(revision);
        const auto response = server.request("tools/call", call_params("count", parse(R"({"n":-1})")));
        if (std::string_view(revision) == "2025-11-25") {
            CHECK(result_of(response).at("isError").as_bool());
            CHECK(result_of(response).at("structuredContent").as_object().at("error").as_string() ==
                  R"(argument `n` must be >= 0; for example: {"n":0})");
        } else {
            CHECK(error_code(response) == rpc_code::invalid_params);
            CHECK(error_text(response).find("argument `n` must be >= 0") != std::string::npos);
        }
    }
}

TEST_CASE("an unexpected failure is answered without its detail")
{
    harness server;
    add(server, "broken", throw_something);
    server.initialize();
    const auto response = server.request("tools/call", call_params("broken"));
    CHECK(error_code(response) == rpc_code::internal_error);
    CHECK(error_text(response).find("secret") == std::string::npos);
}

TEST_CASE("the log level is checked and kept")
{
    harness server;
    server.initialize();
    CHECK(result_of(server.request("logging/setLevel", parse(R"({"level":"error"})"))).empty());
    CHECK(server.client->log_threshold == log_severity::error);
    CHECK(error_code(server.request("logging/setLevel", parse(R"({"level":"loud"})"))) == rpc_code::invalid_params);
}

TEST_CASE("a question reaches the client and its answer the tool")
{
    harness server;
    add(server, "ask", ask_twice);
    server.initialize("2025-11-25", parse(R"({"elicitation":{}})"));
    server.start("tools/call", call_params("ask"));
    for (const char* answer : {"one", "two"}) {
        const auto question = server.next();
        CHECK(question.at("method").as_string() == "elicitation/create");
        json::object result;
        result["action"] = answer;
        server.respond(question.at("id"), std::move(result));
    }
    const auto response = server.next();
    const auto& structured = result_of(response).at("structuredContent").as_object();
    CHECK(structured.at("first").as_object().at("action").as_string() == "one");
    CHECK(structured.at("second").as_object().at("action").as_string() == "two");
    CHECK(server.client->open_requests.empty());
}

TEST_CASE("a client is not asked what it did not declare")
{
    harness server;
    add(server, "ask", ask_twice);
    server.initialize();
    const auto response = server.request("tools/call", call_params("ask"));
    CHECK(error_text(response).find("elicitation") != std::string::npos);
}

TEST_CASE("sessions are told when the tools change")
{
    harness server;
    server.initialize();
    server.client->general = server.sink;
    server.core.watch(server.client);
    add(server, "new_one", echo);
    CHECK(server.next().at("method").as_string() == "notifications/tools/list_changed");
}

TEST_CASE("what clients write for nothing is nothing")
{
    for (const char* empty : {"null", "[]", "{}", "\"\""}) {
        INFO(empty);
        harness server;
        add(server, "echo", echo);
        json::object params{{"protocolVersion", "2025-06-18"}};
        params["capabilities"] = params["clientInfo"] = params["_meta"] = json::parse(empty);
        REQUIRE(server.request("initialize", params).contains("result"));
        server.notify("notifications/initialized");
        CHECK(server.request("tools/list", {{"cursor", json::parse(empty)}}).contains("result"));
        json::object call{{"name", "echo"}, {"arguments", json::parse(empty)}};
        CHECK(server.request("tools/call", call).contains("result"));
    }
    harness server;
    add(server, "echo", echo);
    server.initialize();
    const json::object as_text{{"name", "echo"}, {"arguments", R"( {"text": "hi"} )"}};
    CHECK(json::serialize(server.request("tools/call", as_text)).find("hi") != std::string::npos);
    for (const char* wrong : {"\"x\"", "\"[1]\"", "\"{\"", "[1]", "5"}) {
        CHECK(error_code(server.request("tools/list", {{"cursor", json::parse(wrong)}})) == rpc_code::invalid_params);
        CHECK(error_code(server.request("tools/call", {{"name", "echo"}, {"arguments", json::parse(wrong)}})) ==
              rpc_code::invalid_params);
    }
}
