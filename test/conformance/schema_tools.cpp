// Tools for the tests of input schemas.
#include "test/conformance/fixture_tool.hpp"
#include "test/conformance/fixtures.hpp"

namespace cmcp::fixture {

namespace {

awaitable<tool_result> echo_arguments(tool_context&, json::object arguments)
{
    co_return text_result(json::serialize(arguments));
}

constexpr std::string_view full_schema = R"({
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object",
        "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": false})";

constexpr std::string_view header_schema = R"({
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"},
                   "text": {"type": "string"}},
    "required": ["region"]})";

}  // namespace

void add_schema_tools(server_core& core)
{
    auto& tools = core.tools();
    tools.add(make_tool("json_schema_2020_12_tool", "Has a schema with all of 2020-12", echo_arguments, full_schema));
    tools.add(make_tool("test_header_parameter", "Mirrors an argument into a header", echo_arguments, header_schema));
}

}  // namespace cmcp::fixture
