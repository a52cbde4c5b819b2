#include "server/connect_lines.hpp"

#include "config/settings.hpp"
#include "connect/change.hpp"
#include "connect/client.hpp"
#include "http/endpoint_address.hpp"
#include "http/router.hpp"
#include "jsonrpc/write_json.hpp"

#include <string>

namespace cmcp::command {

namespace {

// The reader's own folder, which this server does not know; the clients' files are below it.
constexpr std::string_view any_home = "/home-of-the-reader";

std::string file_of(const connect::client& of)
{
    const auto known = of.file({{{"HOME", std::string(any_home)}}, {}}, connect::scope::user);
    if (!known) return {};
    const auto path = known->file.string();
    return path.starts_with(any_home) ? "~" + path.substr(any_home.size()) : path;
}

json::object lines_of(const connect::client& of, const connect::server_entry& server)
{
    return {{"name", of.name},
            {"title", of.title},
            {"file", file_of(of)},
            {"text", connect::changed_text(of, {}, "container-mcp", server)},
            {"afterwards", of.afterwards}};
}

awaitable<> give_lines(exchange& x, const settings& config)
{
    connect::server_entry server;
    server.url = address_used(x.request(), config) + "/mcp?profile=agent";
    if (config.callers_have_names() || x.request().parameter("with_key")) server.authorization = "Bearer YOUR-KEY";
    json::object answer{{"url", server.url}};
    auto& all = answer["clients"].emplace_array();
    for (const auto& each : connect::clients()) all.push_back(lines_of(each, server));
    http_reply reply;
    reply.body = jsonrpc::write_json(answer);
    reply.with("Cache-Control", "no-store");
    return x.reply(std::move(reply));
}

}  // namespace

void add_connect_lines(router& routes, const settings& config)
{
    routes.add({.methods = {"GET"},
                .path = "/ui/clients",
                .serve = [&config](exchange& x) { return give_lines(x, config); },
                .by_browser = true});
}

}  // namespace cmcp::command
