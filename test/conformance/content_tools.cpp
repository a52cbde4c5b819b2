// Tools that return one kind of content each.
#include "test/conformance/fixture_tool.hpp"
#include "test/conformance/fixtures.hpp"
#include "test/conformance/samples.hpp"

namespace cmcp::fixture {

namespace {

awaitable<tool_result> simple_text(tool_context&, json::object)
{
    co_return text_result("This is a simple text response for testing.");
}

awaitable<tool_result> image_content(tool_context&, json::object)
{
    tool_result result;
    result.content.push_back(image_block());
    co_return result;
}

awaitable<tool_result> audio_content(tool_context&, json::object)
{
    json::object block;
    block["type"] = "audio";
    block["data"] = sample_wav;
    block["mimeType"] = "audio/wav";
    tool_result result;
    result.content.push_back(std::move(block));
    co_return result;
}

awaitable<tool_result> embedded_resource(tool_context&, json::object)
{
    tool_result result;
    result.content.push_back(
        resource_block("test://embedded-resource", "text/plain", "This is an embedded resource content."));
    co_return result;
}

awaitable<tool_result> mixed_content(tool_context&, json::object)
{
    tool_result result;
    result.content.push_back(text_block("Multiple content types test:"));
    result.content.push_back(image_block());
    result.content.push_back(
        resource_block("test://mixed-content-resource", "application/json", R"({"test":"data","value":123})"));
    co_return result;
}

awaitable<tool_result> failing(tool_context&, json::object)
{
    auto result = text_result("This tool intentionally returns an error for testing");
    result.is_error = true;
    co_return result;
}

}  // namespace

void add_content_tools(server_core& core)
{
    auto& tools = core.tools();
    tools.add(make_tool("test_simple_text", "Returns simple text", simple_text));
    tools.add(make_tool("test_image_content", "Returns an image", image_content));
    tools.add(make_tool("test_audio_content", "Returns audio", audio_content));
    tools.add(make_tool("test_embedded_resource", "Returns an embedded resource", embedded_resource));
    tools.add(make_tool("test_multiple_content_types", "Returns text, an image and a resource", mixed_content));
    tools.add(make_tool("test_error_handling", "Always fails", failing));
}

}  // namespace cmcp::fixture
