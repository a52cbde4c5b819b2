#include "mcp/definitions.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "mcp/icons.hpp"
#include "mcp/reserved_names.hpp"
#include "mcp/result_budget.hpp"
#include "mcp/result_text.hpp"

#include <algorithm>
#include <array>

namespace cmcp {

namespace {

// Clients that show a model nothing but structuredContent where there is some: escaped, and without the blocks of
// content. Editions name themselves behind a dash: "Visual Studio Code - Insiders".
constexpr std::array<std::string_view, 4> showing_objects_alone{"claude-code", "codex-mcp-client", "opencode",
                                                                "Visual Studio Code"};

constexpr int longest_for_claude = 500'000;

// Otherwise Claude Code cuts a result to 25,000 tokens, also where a call asks for more.
bool may_be_asked_for_more(const tool_definition& definition)
{
    return takes_max_output(definition.input_schema) || !definition.size_argument.empty();
}

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

// Headers of arguments are part of 2026-07-28 (SEP-2243); models of other clients need not read of them.
json::object schema_for(const tool_definition& definition, revision protocol)
{
    auto schema = definition.listed_schema.empty() ? definition.input_schema : definition.listed_schema;
    auto* properties = schema.if_contains("properties");
    if (is_modern(protocol) || !properties || !properties->is_object()) return schema;
    for (auto& property : properties->get_object())
        if (auto* described = property.value().if_object()) described->erase("x-mcp-header");
    return schema;
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

// A block type that the revision does not know is replaced by a text that says what was there.
void known_block(json::value& value, revision protocol)
{
    const auto* block = value.if_object();
    if (!block) return;
    const auto type = text_of(*block, "type");
    if (type == "audio" && protocol < revision::v2025_03_26)
        value = text_block("[audio of type " + text_of(*block, "mimeType") + "]");
    if (type == "resource_link" && protocol < revision::v2025_06_18)
        value = text_block(text_of(*block, "name") + ": " + text_of(*block, "uri"));
}

bool has_block(const json::array& content, std::string_view type)
{
    return std::any_of(content.begin(), content.end(), [&](const json::value& block) {
        const auto* members = block.if_object();
        return members && text_of(*members, "type") == type;
    });
}

json::array content_of(tool_result& result, bool as_json)
{
    if (result.structured.empty() || has_block(result.content, "text")) return std::move(result.content);
    const auto memory = result.structured.storage();
    json::array content(memory);
    const auto text = as_json               ? jsonrpc::write_json(result.structured)
                      : result.text.empty() ? result_text(result.structured)
                                            : std::move(result.text);
    content.push_back(text_block(text, memory));
    for (auto& block : result.content) content.push_back(std::move(block));
    return content;
}

}  // namespace

std::optional<result_format> parse_result_format(std::string_view word)
{
    if (word == "auto") return result_format::automatic;
    if (word == "text") return result_format::text;
    return word == "json" ? std::optional(result_format::json) : std::nullopt;
}

bool formatted_for_client(const caller& who, result_format format)
{
    if (format != result_format::automatic) return false;
    const auto name = view_of(who.client_info, "name");
    return std::ranges::any_of(showing_objects_alone, [name](std::string_view each) {
        return name == each || (name.starts_with(each) && name.substr(each.size()).starts_with(" - "));
    });
}

bool takes_text_alone(const caller& who, result_format format)
{
    return format == result_format::text || formatted_for_client(who, format);
}

json::object describe_tool(const tool_definition& definition, const caller& who, result_format format)
{
    const auto protocol = who.protocol;
    const bool has_schema = !definition.output_schema.empty() && !definition.may_show_images;
    json::object described;
    described["name"] = definition.name;
    if (!definition.title.empty()) described["title"] = definition.title;
    described["description"] = definition.description;
    if (protocol >= revision::v2025_11_25) described["icons"] = tool_icons(definition.needs);
    described["inputSchema"] = schema_for(definition, protocol);
    if (protocol >= revision::v2025_06_18 && has_schema && !takes_text_alone(who, format))
        described["outputSchema"] = definition.output_schema;
    if (protocol >= revision::v2025_03_26) described["annotations"] = describe_annotations(definition);
    auto meta = definition.meta;
    if (may_be_asked_for_more(definition)) meta[reserved_name::most_characters] = longest_for_claude;
    if (protocol >= revision::v2025_06_18 && !meta.empty()) described["_meta"] = std::move(meta);
    drop_later_members(described, protocol);
    return described;
}

json::object describe_tool_result(tool_result result, const caller& who, result_format format, result_reader reader)
{
    const auto protocol = who.protocol;
    const bool knows_objects = protocol >= revision::v2025_06_18;
    json::object described(4, result.structured.storage());
    const bool as_json = format == result_format::json ||
                         (format == result_format::automatic && !knows_objects && !takes_text_alone(who, format));
    auto content = content_of(result, as_json);
    const bool takes_object =
        reader == result_reader::program || (!has_block(content, "image") && !takes_text_alone(who, format));
    for (auto& block : content) known_block(block, protocol);
    described["content"] = std::move(content);
    if (knows_objects && !result.structured.empty() && takes_object)
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
