#include "mcp/header_check.hpp"

#include "mcp/params.hpp"
#include "mcp/reserved_names.hpp"
#include "mcp/tasks/task_view.hpp"
#include "text/ascii.hpp"
#include "text/encodings.hpp"
#include "text/number.hpp"

namespace cmcp {

namespace {

[[noreturn]] void refuse_header(std::string_view header, const std::string& reason)
{
    throw rpc_error(rpc_code::header_mismatch, "Header mismatch: " + std::string(header) + " " + reason);
}

std::optional<std::string_view> read(const header_reader& header, std::string_view name)
{
    auto value = header(name);
    if (value) value = trimmed(*value);
    return value;
}

// =?base64?…?= carries what a header cannot hold literally. `store` keeps what had to be decoded.
std::string_view decoded(std::string_view name, std::string_view value, std::string& store)
{
    constexpr std::string_view head = "=?base64?";
    constexpr std::string_view tail = "?=";
    const bool wrapped = value.size() >= head.size() + tail.size() && value.starts_with(head) && value.ends_with(tail);
    if (!wrapped) return value;
    auto bytes = base64_decode(value.substr(head.size(), value.size() - head.size() - tail.size()));
    if (!bytes) refuse_header(name, "is not valid base64");
    store = std::move(*bytes);
    return store;
}

std::optional<std::string_view> string_member(const json::object* object, std::string_view key)
{
    const auto* member = object ? object->if_contains(key) : nullptr;
    if (!member || !member->is_string()) return std::nullopt;
    return std::string_view(member->get_string());
}

// No `wanted`: the body says nothing, so the header must not either.
void compare(const header_reader& header, std::string_view name, std::optional<std::string_view> wanted,
             std::string_view member)
{
    const auto value = read(header, name);
    if (!wanted) {
        if (value) refuse_header(name, "is set, but the body has no `" + std::string(member) + "`");
        return;
    }
    if (!value) refuse_header(name, "is missing");
    std::string store;
    if (decoded(name, *value, store) != *wanted)
        refuse_header(name, "does not match `" + std::string(member) + "` of the body");
}

void check_version(const jsonrpc::request& incoming, const header_reader& header)
{
    constexpr std::string_view name = "MCP-Protocol-Version";
    if (!read(header, name)) refuse_header(name, "is missing");
    // A body without a version is refused later, with invalid_params.
    if (const auto claimed = string_member(meta_of(incoming.params), reserved_name::protocol_version))
        compare(header, name, claimed, "_meta[io.modelcontextprotocol/protocolVersion]");
}

void check_name(const jsonrpc::request& incoming, const header_reader& header)
{
    constexpr std::string_view of_params = "params.";
    std::string_view member;
    if (incoming.method == "tools/call" || incoming.method == "prompts/get")
        member = "params.name";
    else if (incoming.method == "resources/read")
        member = "params.uri";
    else if (find_task_method(incoming.method))
        member = "params.taskId";
    else
        return;
    compare(header, "Mcp-Name", string_member(&incoming.params, member.substr(of_params.size())), member);
}

bool same_number(const json::value& value, std::string_view text)
{
    const auto number = read_number<double>(text);
    return number && value.is_number() && value.to_number<double>() == *number;
}

bool matches(const json::value& value, std::string_view text)
{
    if (const auto* string = value.if_string()) return std::string_view(*string) == text;
    if (const auto* boolean = value.if_bool()) return text == (*boolean ? "true" : "false");
    return same_number(value, text);
}

void check_param(const std::string& name, const std::string& argument, const json::value* value,
                 const header_reader& header)
{
    const auto text = read(header, name);
    const bool present = value && !value->is_null();
    if (!present) {
        if (text) refuse_header(name, "is set, but the argument `" + argument + "` is not");
        return;
    }
    if (!text) refuse_header(name, "is missing");
    std::string store;
    if (!matches(*value, decoded(name, *text, store)))
        refuse_header(name, "does not match the argument `" + argument + "`");
}

// SEP-2243: a property of the input schema that names a header in `x-mcp-header`.
void check_params(const tool_registry& tools, const json::object& params, const header_reader& header)
{
    const auto name = string_member(&params, "name");
    const auto* called = name ? tools.find(*name) : nullptr;
    if (!called) return;
    const auto* properties = called->definition().input_schema.if_contains("properties");
    const auto* arguments = params.if_contains("arguments");
    if (!properties || !properties->is_object()) return;
    for (const auto& property : properties->get_object()) {
        const auto suffix = string_member(property.value().if_object(), "x-mcp-header");
        if (!suffix) continue;
        const auto* argument =
            arguments && arguments->is_object() ? arguments->get_object().if_contains(property.key()) : nullptr;
        check_param("Mcp-Param-" + std::string(*suffix), std::string(property.key()), argument, header);
    }
}

}  // namespace

std::optional<rpc_error> header_mismatch(const tool_registry& tools, const jsonrpc::request& incoming,
                                         const header_reader& header)
{
    try {
        check_version(incoming, header);
        compare(header, "Mcp-Method", incoming.method, "method");
        check_name(incoming, header);
        if (incoming.method == "tools/call") check_params(tools, incoming.params, header);
    } catch (const rpc_error& mismatch) {
        return mismatch;
    }
    return std::nullopt;
}

}  // namespace cmcp
