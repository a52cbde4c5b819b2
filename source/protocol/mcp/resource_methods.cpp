#include "mcp/definitions.hpp"
#include "mcp/methods.hpp"
#include "mcp/pagination.hpp"
#include "mcp/params.hpp"

namespace cmcp {

namespace {

void append(json::array& all, json::array some)
{
    for (auto& item : some) all.push_back(std::move(item));
}

// Those of the servers that answer; they send theirs as a whole.
awaitable<> append_elsewhere(catalogue& offered, running_request& call, json::array& all)
{
    auto answers = co_await offered.nodes->ask_all(call);
    for (auto& each : answers) {
        auto* theirs = each.result.if_contains("resources");
        if (theirs != nullptr && theirs->is_array()) append(all, std::move(theirs->get_array()));
    }
}

}  // namespace

void refuse_resource(const std::string& uri, revision protocol)
{
    json::object data;
    data["uri"] = uri;
    const int code = is_modern(protocol) ? rpc_code::invalid_params : rpc_code::resource_not_found;
    throw rpc_error(code, "Resource not found: " + uri.substr(0, 500), json::value(std::move(data)));
}

awaitable<json::object> list_resources(catalogue& offered, running_request& call)
{
    json::array all;
    for (const auto& provider : offered.providers) {
        json::array some = co_await provider->list(*call.who);
        append(all, std::move(some));
    }
    if (offered.nodes != nullptr && !call.passed_on) co_await append_elsewhere(offered, call, all);
    auto described = describe_resources(std::move(all), call.who->protocol);
    if (call.passed_on && call.is_program) co_return json::object{{"resources", std::move(described)}};
    co_return page_of(std::move(described), "resources", call.params);
}

awaitable<json::object> list_resource_templates(catalogue& offered, running_request& call)
{
    json::array all;
    for (const auto& provider : offered.providers) append(all, provider->templates());
    co_return page_of(describe_resources(std::move(all), call.who->protocol), "resourceTemplates", call.params);
}

awaitable<json::object> read_resource(catalogue& offered, running_request& call)
{
    const auto uri = required_string(call.params, "uri");
    for (const auto& provider : offered.providers) {
        std::optional<json::array> contents = co_await provider->read(*call.who, uri);
        if (!contents) continue;
        json::object result;
        result["contents"] = std::move(*contents);
        co_return result;
    }
    refuse_resource(uri, call.who->protocol);
}

}  // namespace cmcp
