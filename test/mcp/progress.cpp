#include "test/mcp/tools_for_tests.hpp"
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

json::object with_token(json::value token)
{
    auto params = call_params("report");
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

TEST_CASE("the oldest revision gets progress without a message")
{
    harness server;
    add(server, "report", report);
    server.initialize("2024-11-05");
    server.start("tools/call", with_token(7));
    CHECK_FALSE(server.next().at("params").as_object().contains("message"));
}

TEST_CASE("a bad progress token is named")
{
    harness server;
    add(server, "report", report);
    server.initialize();
    const auto response = server.request("tools/call", with_token(true));
    CHECK(error_text(response).find("progressToken") != std::string::npos);
}
