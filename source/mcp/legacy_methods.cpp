#include "mcp/legacy_methods.hpp"

#include "jsonrpc/rpc_error.hpp"
#include "mcp/methods.hpp"
#include "mcp/params.hpp"
#include "mcp/severity.hpp"

#include <array>

namespace cmcp {

namespace {

constexpr std::size_t most_subscriptions_of_session = 1000;
constexpr std::size_t longest_uri = 8192;

json::object ping(const legacy_call&) { return {}; }

json::object set_level(const legacy_call& call)
{
    const auto* level = call.params.if_contains("level");
    call.who->log_threshold = severity_from(level ? *level : json::value(), "level");
    return {};
}

json::object subscribe(const legacy_call& call)
{
    auto uri = required_string(call.params, "uri");
    if (uri.size() > longest_uri) throw rpc_error(rpc_code::invalid_params, "Invalid params: `uri` is too long");
    auto& subscribed = call.who->subscribed;
    if (subscribed.contains(uri)) return {};
    if (subscribed.size() >= most_subscriptions_of_session)
        throw rpc_error(rpc_code::server_error, "this session has " + std::to_string(most_subscriptions_of_session) +
                                                    " subscriptions: unsubscribe from some first");
    const auto changed = [&changes = call.changes, who = std::weak_ptr(call.who), uri] {
        changes.resource_changed(who, uri);
    };
    auto observer = call.offered.observe(call.who->who, uri, changed);
    if (!observer) refuse_resource(uri, call.who->who.protocol);
    subscribed.emplace(std::move(uri), std::move(observer));
    return {};
}

json::object unsubscribe(const legacy_call& call)
{
    call.who->subscribed.erase(required_string(call.params, "uri"));
    return {};
}

struct legacy_row {
    std::string_view name;
    legacy_function function;
};

constexpr std::array<legacy_row, 4> legacy_table{{
    {"ping", ping},
    {"logging/setLevel", set_level},
    {"resources/subscribe", subscribe},
    {"resources/unsubscribe", unsubscribe},
}};

}  // namespace

legacy_function find_legacy_method(std::string_view name)
{
    for (const auto& legacy_row : legacy_table)
        if (legacy_row.name == name) return legacy_row.function;
    return nullptr;
}

}  // namespace cmcp
