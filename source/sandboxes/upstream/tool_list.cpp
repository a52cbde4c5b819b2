#include "upstream/tool_list.hpp"

#include "jsonrpc/json_size.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/encodings.hpp"
#include "upstream/upstream_problem.hpp"
#include "upstream/upstream_text.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_complaints = 10;
constexpr std::size_t longest_cursor = 4096;
constexpr std::size_t longest_name = 64;
constexpr std::size_t longest_value = 4096;  // of an argument in a header
constexpr std::string_view name_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

bool is_tool_name(std::string_view name, std::size_t most = longest_name)
{
    return !name.empty() && name.size() <= most && name.find_first_not_of(name_characters) == name.npos;
}

bool is_schema(const json::value* schema, bool may_be_missing)
{
    if (schema == nullptr) return may_be_missing;
    return schema->is_object() && jsonrpc::json_size(schema->get_object()) <= tool_list::longest_schema;
}

json::object description_of(const upstream_tool& tool)
{
    json::object about;
    about["name"] = tool.server + "." + tool.name;
    about["title"] = tool.title;
    about["description"] = tool.description;
    about["input_schema"] = tool.input_schema;
    if (!tool.output_schema.empty()) about["output_schema"] = tool.output_schema;
    about["read_only"] = tool.read_only;
    return about;
}

// A field's value without what it cannot hold (RFC 9110 section 5.5).
std::string field_value(const std::string& text)
{
    const bool plain = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
    const bool literal = plain && !text.starts_with(' ') && !text.ends_with(' ') && !text.starts_with("=?");
    return literal ? text : "=?base64?" + base64_encode(text) + "?=";
}

}  // namespace

std::string tool_list::add_page(const json::object& result)
{
    const auto* listed = result.if_contains("tools");
    if (listed == nullptr || !listed->is_array())
        throw upstream_problem("answered tools/list with a result that has no list of tools");
    for (const auto& each : listed->get_array()) {
        if (++seen_ > most_tools) {
            complain("It lists more than " + std::to_string(most_tools) + " tools: the others are left out.");
            return {};
        }
        add(each);
    }
    auto cursor = text_of(result, "nextCursor");
    if (cursor.empty()) return {};
    if (cursor.size() <= longest_cursor && ++pages_ < most_pages && cursors_.insert(cursor).second) return cursor;
    complain("Its list of tools does not end: the rest is left out.");
    return {};
}

void tool_list::add(const json::value& listed)
{
    const auto* tool = listed.if_object();
    if (tool == nullptr) return complain("One of its tools is no object: it is left out.");
    auto name = text_of(*tool, "name");
    if (auto wrong = wrong_with(*tool, name); !wrong.empty()) return complain(std::move(wrong));
    if (!of_.offers(name)) return;
    upstream_tool offered{of_.name, name, {}, {}, {}, {}, false};
    const auto& annotations = object_of(*tool, "annotations");
    auto title = view_of(*tool, "title");
    if (title.empty()) title = view_of(annotations, "title");
    offered.title = shown_line(title, longest_title);
    offered.description = shown_text(view_of(*tool, "description"), longest_description);
    offered.input_schema = object_of(*tool, "inputSchema");
    offered.output_schema = object_of(*tool, "outputSchema");
    offered.read_only = flag_of(annotations, "readOnlyHint");
    offered.described = std::make_shared<const json::object>(description_of(offered));
    tools.push_back(std::move(offered));
}

std::string tool_list::wrong_with(const json::object& tool, const std::string& name)
{
    if (!is_tool_name(name))
        return "A tool has the name \"" + shown_line(name, longest_name) +
               "\", which is none of 1 to 64 letters, digits, '_', '.' and '-': it is left out.";
    if (!names_.insert(name).second) return "The tool " + name + " is listed twice: the second one is left out.";
    if (!is_schema(tool.if_contains("inputSchema"), false) || !is_schema(tool.if_contains("outputSchema"), true))
        return "The tool " + name + " has no schemas that are objects of at most 64 KiB: it is left out.";
    return {};
}

void tool_list::complain(std::string about)
{
    if (complaints.size() < most_complaints) return complaints.push_back(std::move(about));
    complaints.resize(most_complaints);
    complaints.push_back(std::to_string(++untold_) + " more are left out.");
}

std::vector<std::pair<std::string, std::string>> repeated_arguments(const json::object& input_schema,
                                                                    const json::object& arguments)
{
    std::vector<std::pair<std::string, std::string>> fields;
    for (const auto& property : object_of(input_schema, "properties")) {
        const auto* rules = property.value().if_object();
        const auto* value = arguments.if_contains(property.key());
        if (rules == nullptr || value == nullptr || value->is_null() || value->is_structured()) continue;
        const auto suffix = text_of(*rules, "x-mcp-header");
        if (!is_tool_name(suffix)) continue;
        const auto text = value->is_string() ? text_of(arguments, property.key()) : jsonrpc::write_json(*value);
        if (text.size() <= longest_value) fields.emplace_back("Mcp-Param-" + suffix, field_value(text));
    }
    return fields;
}

}  // namespace cmcp
