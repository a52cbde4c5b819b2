#include "mcp/legacy_methods.hpp"

#include "jsonrpc/rpc_error.hpp"
#include "mcp/params.hpp"
#include "mcp/severity.hpp"

#include <array>

namespace cmcp {

namespace {

constexpr std::size_t most_subscriptions = 1000;
constexpr std::size_t longest_uri = 8192;

json::object ping(session&, const json::object&) { return {}; }

json::object set_level(session& who, const json::object& params)
{
    const auto* level = params.if_contains("level");
    who.log_threshold = severity_from(level ? *level : json::value(), "level");
    return {};
}

json::object subscribe(session& who, const json::object& params)
{
    auto uri = required_string(params, "uri");
    if (uri.size() > longest_uri) throw rpc_error(rpc_code::invalid_params, "Invalid params: `uri` is too long");
    if (who.subscribed.size() >= most_subscriptions && !who.subscribed.contains(uri))
        throw rpc_error(rpc_code::server_error, "this session has " + std::to_string(most_subscriptions) +
                                                    " subscriptions: unsubscribe from some first");
    who.subscribed.insert(std::move(uri));
    return {};
}

json::object unsubscribe(session& who, const json::object& params)
{
    who.subscribed.erase(required_string(params, "uri"));
    return {};
}

struct row {
    std::string_view name;
    legacy_function function;
};

constexpr std::array<row, 4> table{{
    {"ping", ping},
    {"logging/setLevel", set_level},
    {"resources/subscribe", subscribe},
    {"resources/unsubscribe", unsubscribe},
}};

}  // namespace

legacy_function find_legacy_method(std::string_view name)
{
    for (const auto& row : table)
        if (row.name == name) return row.function;
    return nullptr;
}

}  // namespace cmcp
