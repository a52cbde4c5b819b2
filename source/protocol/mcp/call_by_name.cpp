#include "mcp/call_by_name.hpp"

#include "async/sized_work.hpp"
#include "jsonrpc/absent.hpp"
#include "jsonrpc/json_reader.hpp"
#include "jsonrpc/read_object.hpp"

#include <optional>
#include <utility>

namespace cmcp {
namespace {

// An object, also one that a model has written as text; the text stays where it is none, or is long.
void read_text(json::value& member)
{
    const auto* text = member.if_string();
    if (text == nullptr || text->empty() || text->size() > most_on_loop) return;
    auto read = jsonrpc::read_bounded(std::string_view(*text), {.depth = 256});
    if (read && read->is_object()) member = std::move(*read);
}

// What the arguments of call_tool name; null where that is no tool for clients.
const tool* named_in(const tool_registry& tools, const json::object& arguments)
{
    const auto* named = tools.find(view_of(arguments, "name"));
    const bool is_open =
        named != nullptr && !named->definition().for_code_alone && !named->definition().leads_to_others;
    return is_open ? named : nullptr;
}

bool is_by_name(const json::object& params)
{
    return view_of(params, "name") == call_tool_name && params.contains("arguments");
}

}  // namespace

const tool* tool_in(const tool_registry& tools, const json::object& params)
{
    if (is_by_name(params)) {
        const auto& sent = params.at("arguments");
        json::value text = sent.is_string() && sent.get_string().size() <= most_on_loop ? sent : json::value();
        read_text(text);
        const auto* arguments = sent.is_object() ? sent.if_object() : text.if_object();
        if (const auto* named = arguments == nullptr ? nullptr : named_in(tools, *arguments)) return named;
    }
    return tools.find(view_of(params, "name"));
}

void mean_named_tool(const tool_registry& tools, json::object& params)
{
    if (!is_by_name(params)) return;
    auto& sent = params.at("arguments");
    read_text(sent);
    auto* const outer = sent.if_object();
    if (outer == nullptr || named_in(tools, *outer) == nullptr) return;
    json::value arguments(json::object_kind, params.storage());
    if (auto* const inner = outer->if_contains("arguments");
        inner != nullptr && !jsonrpc::is_absent(*inner, json::kind::object)) {
        read_text(*inner);
        if (!inner->is_object()) return;
        arguments = std::move(*inner);
    }
    json::value name = std::move(outer->at("name"));
    // What else there is may be long, and is let go with the params.
    json::value rest(std::move(sent));
    if (rest.get_object().size() > 2) params["unknown"] = std::move(rest);
    params["name"] = std::move(name);
    params["arguments"] = std::move(arguments);
}

}  // namespace cmcp
