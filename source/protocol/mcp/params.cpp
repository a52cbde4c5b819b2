#include "mcp/params.hpp"

#include "jsonrpc/absent.hpp"
#include "jsonrpc/rpc_error.hpp"

namespace cmcp {

namespace {

[[noreturn]] void refuse(std::string_view name, const std::string& reason)
{
    throw rpc_error(rpc_code::invalid_params, "Invalid params: `" + std::string(name) + "` " + reason);
}

const json::value& required(const json::object& params, std::string_view name)
{
    const auto* member = params.if_contains(name);
    if (!member) refuse(name, "is missing");
    return *member;
}

}  // namespace

std::string required_string(const json::object& params, std::string_view name)
{
    const auto& member = required(params, name);
    if (!member.is_string()) refuse(name, "must be a string");
    return std::string(member.get_string());
}

const json::object& required_object(const json::object& params, std::string_view name)
{
    static const json::object none;
    const auto& member = required(params, name);
    if (const auto* list = member.if_array(); list != nullptr && list->empty()) return none;  // as PHP writes it
    if (!member.is_object()) refuse(name, "must be an object");
    return member.get_object();
}

json::object optional_object(const json::object& params, std::string_view name)
{
    const auto* member = jsonrpc::given(params, name, json::kind::object);
    if (!member) return {};
    if (!member->is_object()) refuse(name, "must be an object");
    return member->get_object();
}

const json::object* meta_of(const json::object& params)
{
    const auto* meta = params.if_contains("_meta");
    return meta ? meta->if_object() : nullptr;
}

metrics::trace_parent trace_of(const json::object* meta)
{
    const auto* parent = meta ? meta->if_contains("traceparent") : nullptr;
    if (!parent || !parent->is_string()) return {};
    const auto& text = parent->get_string();
    return metrics::parse_traceparent({text.data(), text.size()}).value_or(metrics::trace_parent());
}

std::string target_of(const json::object& params)
{
    for (const char* member : {"name", "uri"}) {
        const auto* value = params.if_contains(member);
        if (value && value->is_string()) return std::string(value->get_string());
    }
    return {};
}

}  // namespace cmcp
