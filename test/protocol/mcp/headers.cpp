#include "mcp/header_check.hpp"
#include "test/protocol/mcp/tools_for_tests.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

using headers = std::map<std::string, std::string, std::less<>>;

constexpr auto schema = R"({"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},
    "count":{"type":"integer","x-mcp-header":"Count"}}})";

bool accepted(harness& server, std::string method, json::object params, const headers& fields)
{
    const jsonrpc::request incoming{1, std::move(method), modern_params(std::move(params), {})};
    auto read = [&fields](std::string_view name) -> std::optional<std::string_view> {
        const auto field = fields.find(name);
        return field == fields.end() ? std::nullopt : std::optional<std::string_view>(field->second);
    };
    const auto refused = header_mismatch(server.core.tools(), incoming, read);
    if (refused) CHECK(refused->code == rpc_code::header_mismatch);
    return !refused;
}

headers headers_for(std::string method, headers more = {})
{
    more.emplace("MCP-Protocol-Version", "2026-07-28");
    more.emplace("Mcp-Method", std::move(method));
    return more;
}

}  // namespace

TEST_CASE("the standard headers must repeat the body")
{
    harness server;
    CHECK(accepted(server, "tools/list", {}, headers_for("tools/list")));
    CHECK_FALSE(accepted(server, "tools/list", {}, headers_for("prompts/list")));
    CHECK_FALSE(accepted(server, "tools/list", {}, headers_for("TOOLS/LIST")));
    CHECK_FALSE(accepted(server, "tools/list", {}, {{"MCP-Protocol-Version", "2026-07-28"}}));
    CHECK_FALSE(accepted(server, "tools/list", {}, {{"Mcp-Method", "tools/list"}}));
    CHECK_FALSE(
        accepted(server, "tools/list", {}, headers_for("tools/list", {{"MCP-Protocol-Version", "2025-11-25"}})));
}

TEST_CASE("Mcp-Name repeats the name or the URI, literally or in base64")
{
    harness server;
    const auto params = call_params("echo");
    CHECK(accepted(server, "tools/call", params, headers_for("tools/call", {{"Mcp-Name", " echo "}})));
    CHECK(accepted(server, "tools/call", params, headers_for("tools/call", {{"Mcp-Name", "=?base64?ZWNobw==?="}})));
    CHECK_FALSE(accepted(server, "tools/call", params, headers_for("tools/call", {{"Mcp-Name", "=?base64?ZWNobw?="}})));
    CHECK_FALSE(accepted(server, "tools/call", params, headers_for("tools/call", {{"Mcp-Name", "other"}})));
    CHECK_FALSE(accepted(server, "tools/call", params, headers_for("tools/call")));
    const auto uri = parse(R"({"uri":"a:b"})");
    CHECK(accepted(server, "resources/read", uri, headers_for("resources/read", {{"Mcp-Name", "a:b"}})));
}

TEST_CASE("Mcp-Param headers repeat the arguments that the schema mirrors")
{
    harness server;
    add(server, "echo", echo, schema);
    const headers named{{"Mcp-Name", "echo"}};
    const auto check = [&](std::string_view arguments, headers more) {
        more.insert(named.begin(), named.end());
        return accepted(server, "tools/call", call_params("echo", parse(arguments)), headers_for("tools/call", more));
    };
    CHECK(check("{}", {}));
    CHECK(check(R"({"region":"eu"})", {{"Mcp-Param-Region", "eu"}}));
    CHECK(check(R"({"region":"eu","count":7})", {{"Mcp-Param-Region", "eu"}, {"Mcp-Param-Count", "7"}}));
    CHECK(check(R"({"region":"SGVsbG8="})", {{"Mcp-Param-Region", "SGVsbG8="}}));
    CHECK_FALSE(check(R"({"region":"eu"})", {}));
    CHECK_FALSE(check(R"({"region":"eu"})", {{"Mcp-Param-Region", "us"}}));
    CHECK_FALSE(check("{}", {{"Mcp-Param-Region", "eu"}}));
    CHECK_FALSE(check(R"({"count":7})", {{"Mcp-Param-Count", "8"}}));
    CHECK_FALSE(check(R"({"region":"Hello"})", {{"Mcp-Param-Region", "=?base64?SGVs!!!bG8=?="}}));
}
