#include "config/settings.hpp"
#include "http/member_gateway.hpp"
#include "http/route.hpp"
#include "jsonrpc/write_json.hpp"
#include "pages/page_files.hpp"
#include "prebuilt/version.hpp"
#include "rest/rest_routes.hpp"
#include "text/words.hpp"

#include <memory>
#include <set>
#include <string_view>

namespace cmcp {

namespace ui {
extern const std::string_view page_html, page_css, page_js, advice_js, cell_js, charts_js, columns_js, connect_js,
    dialogs_js, elements_js, files_js, highlight_js, history_js, lists_js, live_js, markdown_js, network_js, nodes_js,
    one_sandbox_js, overview_js, packages_js, ports_js, previews_js, principals_js, sandboxes_js, screen_js, secrets_js,
    server_js, snapshots_js, table_js, terminal_js;  // ui/page.html, …
}

namespace {

const page_file ui_files[] = {
    {"/ui", ui::page_html, html_type, ui::page_css},
    {"/ui/page.css", ui::page_css, style_type},
    {"/ui/page.js", ui::page_js, script_type},
    {"/ui/advice.js", ui::advice_js, script_type},
    {"/ui/cell.js", ui::cell_js, script_type},
    {"/ui/charts.js", ui::charts_js, script_type},
    {"/ui/columns.js", ui::columns_js, script_type},
    {"/ui/connect.js", ui::connect_js, script_type},
    {"/ui/dialogs.js", ui::dialogs_js, script_type},
    {"/ui/elements.js", ui::elements_js, script_type},
    {"/ui/files.js", ui::files_js, script_type},
    {"/ui/highlight.js", ui::highlight_js, script_type},
    {"/ui/history.js", ui::history_js, script_type},
    {"/ui/lists.js", ui::lists_js, script_type},
    {"/ui/live.js", ui::live_js, script_type},
    {"/ui/markdown.js", ui::markdown_js, script_type},
    {"/ui/network.js", ui::network_js, script_type},
    {"/ui/nodes.js", ui::nodes_js, script_type},
    {"/ui/one_sandbox.js", ui::one_sandbox_js, script_type},
    {"/ui/overview.js", ui::overview_js, script_type},
    {"/ui/packages.js", ui::packages_js, script_type},
    {"/ui/ports.js", ui::ports_js, script_type},
    {"/ui/previews.js", ui::previews_js, script_type},
    {"/ui/principals.js", ui::principals_js, script_type},
    {"/ui/sandboxes.js", ui::sandboxes_js, script_type},
    {"/ui/screen.js", ui::screen_js, script_type},
    {"/ui/secrets.js", ui::secrets_js, script_type},
    {"/ui/server.js", ui::server_js, script_type},
    {"/ui/snapshots.js", ui::snapshots_js, script_type},
    {"/ui/table.js", ui::table_js, script_type},
    {"/ui/terminal.js", ui::terminal_js, script_type},
};

json::array scopes_of(const http_request& request)
{
    constexpr std::string_view mark = "mcp:";
    json::array names;
    const auto all = scope_set::all().text();
    for (const auto name : split(all, ' '))
        if (request.who && request.who->scopes.covers(scope_set::parse(name)))
            names.emplace_back(name.substr(mark.size()));
    return names;
}

// The servers that an administrator of a cluster sees; without one there are none.
json::array nodes_of(const ui_sources& from)
{
    json::array names;
    if (from.members == nullptr) return names;
    std::set<std::string> all{from.config.sandbox_node};
    for (auto& each : from.members->others()) all.insert(std::move(each));
    for (const auto& each : all) names.emplace_back(each);
    return names;
}

// A visitor who has not logged in yet is no refused login. `everything`: as admin_viewer. `named`: callers have names
// here.
awaitable<> give_session(exchange& x, std::shared_ptr<ui_sources> from)
{
    const auto& request = x.request();
    const bool admin = request.who && request.who->scopes.covers(scope::admin);
    const auto* browser = from->browsers.find(request);
    json::object session;
    http_reply reply;
    reply.with("Cache-Control", "no-store");
    session["logged_in"] = request.who != nullptr;
    if (!request.who) {
        reply.body = jsonrpc::write_json(session);
        return x.reply(std::move(reply));
    }
    session["principal"] = request.principal;
    session["named"] = from->config.callers_have_names();
    session["everything"] = admin && (!request.principal.empty() || from->admits_nameless);
    session["node"] = from->config.sandbox_node;
    session["nodes"] = session["everything"].as_bool() ? nodes_of(*from) : json::array();
    session["administers_keys"] = admin;
    session["scopes"] = scopes_of(request);
    session["networks"] = json::object{{"offered", !from->config.sandbox_network_allowed.empty()},
                                       {"ask", from->config.sandbox_network_ask.count() != 0}};
    session["by_cookie"] = browser != nullptr;
    session["csrf"] = browser != nullptr ? browser->csrf : "";
    session["version"] = CMCP_VERSION;
    reply.body = jsonrpc::write_json(session);
    return x.reply(std::move(reply));
}

// Previews of files and pages of sandboxes; those below MCP_PREVIEW_DOMAIN have names of their own.
std::string frames_of(const std::string& preview_domain)
{
    const auto domain = preview_domain.substr(0, preview_domain.find(':'));
    return domain.empty() ? "'self'" : "'self' http://*." + domain + ":* https://*." + domain + ":*";
}

}  // namespace

void add_ui_routes(router& routes, ui_sources from)
{
    add_page_files(routes, ui_files, {"ui/", frames_of(from.config.preview_domain)});
    const auto self = std::make_shared<ui_sources>(std::move(from));
    routes.add({.methods = {"GET"},
                .path = "/ui/session",
                .serve = [self](exchange& x) { return give_session(x, self); },
                .by_strangers = true,
                .by_browser = true});
    add_login_routes(routes, *self);
}

}  // namespace cmcp
