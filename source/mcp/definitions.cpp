#include "mcp/definitions.hpp"

#include "jsonrpc/write_json.hpp"

#include <algorithm>

namespace cmcp {

namespace {

json::object describe_annotations(const tool_definition& definition)
{
    json::object annotations;
    if (!definition.title.empty()) annotations["title"] = definition.title;
    annotations["readOnlyHint"] = definition.annotations.read_only;
    annotations["destructiveHint"] = definition.annotations.destructive;
    annotations["idempotentHint"] = definition.annotations.idempotent;
    annotations["openWorldHint"] = definition.annotations.open_world;
    return annotations;
}

void drop_later_members(json::object& described, revision protocol)
{
    if (protocol < revision::v2025_06_18) described.erase("title");
    if (protocol < revision::v2025_11_25) described.erase("icons");
}

json::object text_block(std::string_view text, const json::storage_ptr& memory = {})
{
    json::object block(2, memory);
    block["type"] = "text";
    block["text"] = text;
    return block;
}

std::string text_member(const json::object& block, std::string_view key)
{
    const auto* member = block.if_contains(key);
    return member && member->is_string() ? std::string(member->get_string()) : std::string();
}

// A block type that the revision does not know is replaced by a text that says what was there.
void known_block(json::value& value, revision protocol)
{
    const auto* block = value.if_object();
    if (!block) return;
    const auto type = text_member(*block, "type");
    if (type == "audio" && protocol < revision::v2025_03_26)
        value = text_block("[audio of type " + text_member(*block, "mimeType") + "]");
    if (type == "resource_link" && protocol < revision::v2025_06_18)
        value = text_block(text_member(*block, "name") + ": " + text_member(*block, "uri"));
}

bool has_block(const json::array& content, std::string_view type)
{
    return std::any_of(content.begin(), content.end(), [&](const json::value& block) {
        const auto* members = block.if_object();
        return members && text_member(*members, "type") == type;
    });
}

json::array content_of(tool_result& result)
{
    if (result.structured.empty() || has_block(result.content, "text")) return std::move(result.content);
    const auto memory = result.structured.storage();
    json::array content(memory);
    content.push_back(text_block(jsonrpc::write_json(result.structured), memory));
    for (auto& block : result.content) content.push_back(std::move(block));
    return content;
}

}  // namespace

json::object describe_tool(const tool_definition& definition, revision protocol)
{
    json::object described;
    described["name"] = definition.name;
    if (!definition.title.empty()) described["title"] = definition.title;
    described["description"] = definition.description;
    described["inputSchema"] = definition.input_schema;
    if (protocol >= revision::v2025_06_18 && !definition.output_schema.empty() && !definition.may_show_images)
        described["outputSchema"] = definition.output_schema;
    if (protocol >= revision::v2025_03_26) described["annotations"] = describe_annotations(definition);
    if (protocol >= revision::v2025_06_18 && !definition.meta.empty()) described["_meta"] = definition.meta;
    drop_later_members(described, protocol);
    return described;
}

json::object describe_tool_result(tool_result result, revision protocol, result_reader reader)
{
    json::object described(4, result.structured.storage());
    auto content = content_of(result);
    const bool takes_object = reader == result_reader::program || !has_block(content, "image");
    for (auto& block : content) known_block(block, protocol);
    described["content"] = std::move(content);
    if (protocol >= revision::v2025_06_18 && !result.structured.empty() && takes_object)
        described["structuredContent"] = std::move(result.structured);
    if (result.is_error) described["isError"] = true;
    if (!result.meta.empty()) described["_meta"] = std::move(result.meta);
    return described;
}

json::object describe_prompt(json::object definition, revision protocol)
{
    drop_later_members(definition, protocol);
    auto* arguments = definition.if_contains("arguments");
    if (!arguments || !arguments->is_array()) return definition;
    for (auto& argument : arguments->get_array())
        if (argument.is_object()) drop_later_members(argument.get_object(), protocol);
    return definition;
}

json::array describe_resources(json::array resources, revision protocol)
{
    for (auto& resource : resources)
        if (resource.is_object()) drop_later_members(resource.get_object(), protocol);
    return resources;
}

json::object describe_prompt_result(json::object result, revision protocol)
{
    auto* messages = result.if_contains("messages");
    if (!messages || !messages->is_array()) return result;
    for (auto& message : messages->get_array())
        if (message.is_object() && message.get_object().contains("content"))
            known_block(message.get_object().at("content"), protocol);
    return result;
}

}  // namespace cmcp
