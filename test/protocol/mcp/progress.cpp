#include "test/protocol/mcp/tools_for_tests.hpp"
#include "test/support/catch.hpp"

#include <cmath>
#include <limits>

using namespace cmcp;
using namespace cmcp::test;

namespace {

awaitable<tool_result> report(tool_context& context, json::object)
{
    for (const double value : {0.0, 0.0, 5.0, 4.0, std::numeric_limits<double>::quiet_NaN(), 1e15, 1e15})
        co_await context.io.progress(value, std::nullopt, "text");
    co_return tool_result{};
}

awaitable<tool_result> print_on_both(tool_context& context, json::object)
{
    std::vector<output_text> texts{
        {output_stream::err, 3, "warning"}, {output_stream::out, 0, "result"}, {output_stream::err, 10, ", end"}};
    co_await context.io.output(5, std::move(texts));
    std::string no_message;
    co_await context.io.progress(5, std::nullopt, std::move(no_message));
    co_return tool_result{};
}

std::string much_output()
{
    std::string text;
    while (text.size() < 300'000)
        text +=
            "\xE2\x82\xAC"
            "a\n";
    return text;
}

awaitable<tool_result> print_much(tool_context& context, json::object)
{
    std::vector<output_text> texts{{output_stream::out, 7, much_output()}};
    co_await context.io.output(5, std::move(texts));
    co_return tool_result{};
}

json::object with_token(json::value token, std::string_view tool = "report")
{
    auto params = call_params(tool);
    json::object meta;
    meta["progressToken"] = std::move(token);
    params["_meta"] = std::move(meta);
    return params;
}

}  // namespace

TEST_CASE("progress is sent only to who gave a token, and always grows")
{
    harness server;
    add(server, "report", report);
    server.initialize();
    server.start("tools/call", call_params("report"));
    CHECK(server.next().contains("result"));
    server.start("tools/call", with_token("t"));
    double last = -1;
    for (int i = 0; i < 7; ++i) {
        const auto message = server.next();
        const auto& params = message.at("params").as_object();
        CHECK(params.at("progressToken").as_string() == "t");
        CHECK(params.at("message").as_string() == "text");
        const double value = params.at("progress").to_number<double>();
        CHECK(value > last);
        last = value;
    }
    CHECK(server.next().contains("result"));
}

TEST_CASE("every revision gets the output, with its stream and its offset, and heartbeats without a message")
{
    const std::string revision =
        GENERATE(as<std::string>(), "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28");
    INFO(revision);
    harness server;
    add(server, "print", print_on_both);
    const auto params = with_token(7, "print");
    if (revision == "2026-07-28") {
        server.start_modern("tools/call", params);
    } else {
        server.initialize(revision);
        server.start("tools/call", params);
    }
    const auto first = server.next().at("params").as_object();
    CHECK(first.at("message").as_string() == "warning, end");
    CHECK(first.at("_meta") == parse(R"({"container-mcp/stream":"stderr","container-mcp/offset":3})"));
    const auto second = server.next().at("params").as_object();
    CHECK(second.at("message").as_string() == "result");
    CHECK(second.at("_meta") == parse(R"({"container-mcp/stream":"stdout","container-mcp/offset":0})"));
    const auto heartbeat = server.next().at("params").as_object();
    CHECK_FALSE(heartbeat.contains("message"));
    CHECK_FALSE(heartbeat.contains("_meta"));
    CHECK(heartbeat.at("progress").to_number<double>() > second.at("progress").to_number<double>());
    CHECK(second.at("progress").to_number<double>() > first.at("progress").to_number<double>());
    CHECK(server.next().contains("result"));
}

TEST_CASE("output is sent only to who gave a token")
{
    harness server;
    add(server, "print", print_on_both);
    server.initialize();
    server.start("tools/call", call_params("print"));
    CHECK(server.next().contains("result"));
}

TEST_CASE("a bad progress token is named")
{
    harness server;
    add(server, "report", report);
    server.initialize();
    const auto response = server.request("tools/call", with_token(true));
    CHECK(error_text(response).find("progressToken") != std::string::npos);
}

TEST_CASE("a progress token comes back with its value, and what stands for nothing is none")
{
    harness server;
    add(server, "report", report);
    server.initialize();
    for (const auto& [token, echoed] : {std::pair("1.0", "1"), std::pair("2.5", "2.5E0"), std::pair("\"\"", "\"\"")}) {
        server.start("tools/call", with_token(json::parse(token)));
        const auto message = server.next();
        REQUIRE(message.contains("params"));
        CHECK(json::serialize(message.at("params").as_object().at("progressToken")) == echoed);
        for (int i = 0; i < 6; ++i) server.next();
        CHECK(server.next().contains("result"));
    }
    for (const char* none : {"null", "[]", "{}"}) {
        server.start("tools/call", with_token(json::parse(none)));
        CHECK(server.next().contains("result"));
    }
    server.start("tools/call", with_token(true));
    CHECK(server.next().contains("error"));
}

TEST_CASE("much output comes in parts that end with whole characters and say where they belong")
{
    harness server;
    add(server, "print", print_much);
    server.initialize();
    server.start("tools/call", with_token("t", "print"));
    std::string text;
    std::size_t parts = 0;
    for (auto message = server.next(); message.contains("method"); message = server.next(), ++parts) {
        const auto& params = message.at("params").as_object();
        const std::string part(params.at("message").as_string());
        CHECK(part.size() <= 64 * 1024);
        CHECK(part.find("\xEF\xBF\xBD") == std::string::npos);
        CHECK(params.at("_meta").as_object().at("container-mcp/offset") == 7 + text.size());
        text += part;
    }
    CHECK(parts == 5);
    CHECK(text == much_output());
}
