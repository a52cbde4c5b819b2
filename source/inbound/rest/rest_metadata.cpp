#include "config/settings.hpp"
#include "http/challenge.hpp"
#include "http/endpoint_address.hpp"
#include "identity/jose.hpp"
#include "jsonrpc/write_json.hpp"
#include "rest/rest_routes.hpp"
#include "text/words.hpp"

namespace cmcp {

namespace {

json::array words(std::string_view text)
{
    const auto all = split(text, ' ');
    return json::array(all.begin(), all.end());
}

// `resource` is the address from which the client made that of the metadata (section 3.3), so it depends on both.
json::object metadata(const http_request& request, const settings& config)
{
    json::object about;
    about["resource"] = address_used(request, config) + request.path.substr(metadata_path.size());
    about["authorization_servers"] = json::value_from(config.auth_issuers);
    about["scopes_supported"] = words(offered_scopes(config).text());
    about["bearer_methods_supported"] = json::array{"header"};
    about["resource_name"] = "Container-MCP";
    about["resource_documentation"] = address_used(request, config) + "/docs";
    if (config.auth_dpop == "off") return about;
    about["dpop_signing_alg_values_supported"] = words(jose::algorithms);
    about["dpop_bound_access_tokens_required"] = config.auth_dpop == "require";
    return about;
}

awaitable<> serve_metadata(exchange& x, const settings& config)
{
    http_reply reply;
    reply.body = jsonrpc::write_json(metadata(x.request(), config));
    reply.with("Cache-Control", "max-age=300");
    return x.reply(std::move(reply));
}

}  // namespace

void add_metadata_routes(router& routes, const settings& config)
{
    for (const auto* path : {"", "/mcp", "/sse"})
        routes.add({.methods = {"GET", "HEAD"},
                    .path = std::string(metadata_path) + path,
                    .serve = [&config](exchange& x) { return serve_metadata(x, config); },
                    .access = route_access::open});
}

}  // namespace cmcp
