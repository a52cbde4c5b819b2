#include "pages/landing_page.hpp"

#include "config/settings.hpp"
#include "http/endpoint_address.hpp"
#include "prebuilt/version.hpp"
#include "text/ascii.hpp"
#include "text/html.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace cmcp {

extern const std::string_view landing_page;  // landing_page.html

namespace {

std::string row(std::string_view name, std::string_view value, std::string_view kind = {})
{
    return "<dt>" + std::string(name) + "</dt><dd" + (kind.empty() ? "" : " class=\"" + std::string(kind) + "\"") +
           ">" + html_escaped(value) + "</dd>\n";
}

std::string layer_rows(const json::array& layers)
{
    std::size_t on = 0;
    std::string weaker, python, engine;
    for (const auto& each : layers) {
        const std::string_view name = each.at("name").as_string(), state = each.at("state").as_string(),
                               detail = each.at("detail").as_string();
        if (name == "python_zygote")
            python = row("Python", state == "on" ? "fast: an interpreter is kept loaded" : detail);
        else if (name == "engine")
            engine = row("Containers", detail);
        else if (state == "on")
            ++on;
        else if (state != "not asked for")
            weaker.append(weaker.empty() ? "" : ", ").append(name);
    }
    return row("Sandbox", std::to_string(on) + " layers on" + (weaker.empty() ? "" : "; not fully: " + weaker)) +
           python + engine;
}

std::string server_row(const std::vector<std::string>& troubles)
{
    if (troubles.empty()) return row("Server", "up and well", "well");
    return row("Server", joined(troubles, " "), "ill");
}

std::string state_rows(const settings& config, const std::vector<std::string>& troubles,
                       const std::function<json::object()>& details)
{
    std::string rows = server_row(troubles);
    if (config.callers_have_names()) return rows;
    const json::object now = details();
    if (const auto* layers = now.if_contains("layers"); layers != nullptr && layers->is_array())
        rows += layer_rows(layers->as_array());
    for (const auto& [name, key] : {std::pair{"Sessions", "sessions"}, std::pair{"Requests", "requests_in_flight"}})
        if (const auto* number = now.if_contains(key)) rows += row(name, json::serialize(*number));
    return rows;
}

struct replacement {
    std::string_view name;
    std::string text;  // markup
};

std::vector<replacement> replacements(const http_request& request, const settings& config, std::string state)
{
    const bool token = config.callers_have_names();
    return {{"version", html_escaped(CMCP_VERSION)},
            {"state", std::move(state)},
            {"tokens", token ? "<p>The server asks for a token: put yours in place of YOUR_TOKEN.</p>\n" : ""},
            {"address", html_escaped(address_used(request, config))},
            {"claude_token", token ? " --header \"Authorization: Bearer YOUR_TOKEN\"" : ""},
            {"json_token", token ? ", \"headers\": { \"Authorization\": \"Bearer YOUR_TOKEN\" }" : ""},
            {"curl_token", token ? " -H 'Authorization: Bearer YOUR_TOKEN'" : ""}};
}

std::string filled_in(std::string_view text, const std::vector<replacement>& with)
{
    std::string page;
    for (auto open = text.find("{{"); open != std::string_view::npos; open = text.find("{{")) {
        const auto close = text.find("}}", open);
        page += text.substr(0, open);
        const auto name = text.substr(open + 2, close - open - 2);
        for (const auto& each : with)
            if (each.name == name) page += each.text;
        text.remove_prefix(close + 2);
    }
    return page.append(text);
}

awaitable<> serve_landing_page(exchange& x, const settings& config, readiness_check ready,
                               std::function<json::object()> details)
{
    std::vector<std::string> troubles;
    if (ready) troubles = co_await ready();
    const std::string_view text = landing_page;
    http_reply reply;
    reply.content_type = "text/html; charset=utf-8";
    auto state = state_rows(config, troubles, details);
    reply.body = filled_in(text, replacements(x.request(), config, std::move(state)));
    reply.with(
        "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    reply.with("X-Content-Type-Options", "nosniff");
    reply.with("Referrer-Policy", "no-referrer");
    reply.with("Cache-Control", "no-store");
    reply.with("Vary", "Accept");
    co_await x.reply(std::move(reply));
}

}  // namespace

void add_landing_page(router& routes, const settings& config, readiness_check ready,
                      std::function<json::object()> details)
{
    // The page is open because it says that a token is needed. Clients of MCP without a path in their settings come
    // here.
    routes.add(
        {.methods = {"GET", "HEAD"},
         .path = "/",
         .serve = [&config, ready, details](exchange& x) { return serve_landing_page(x, config, ready, details); },
         .access = route_access::open,
         .html_only = true,
         .rpc_errors = true});
    if (!config.jupyter_api) return;
    // Pages of a Jupyter server. Programs look there for a login: another status than 200 is one to VS Code.
    for (const auto* path : {"/tree", "/lab"})
        routes.add(
            {.methods = {"GET", "HEAD"},
             .path = path,
             .serve = [&config, ready, details](exchange& x) { return serve_landing_page(x, config, ready, details); },
             .access = route_access::open});
}

}  // namespace cmcp
