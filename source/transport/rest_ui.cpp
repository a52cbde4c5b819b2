#include "http/endpoint_address.hpp"
#include "identity/code_flow.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "text/encodings.hpp"
#include "transport/rest_routes.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace cmcp {

namespace ui {
extern const std::string_view page, style, script;  // ui/page.html, page.css, page.js
}

namespace {

// Programs and pages that others made have other origins, so 'self' is these three files and the routes that they use.
constexpr std::string_view policy =
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri "
    "'none'; form-action 'none'; frame-ancestors 'none'";
constexpr std::string_view state_cookie = "cmcp-state=";

struct ui_pages {
    const settings& config;
    authenticator& logins;
    browser_logins& browsers;
    code_flow flow;
    bool admits_nameless;
};

using ui_ptr = std::shared_ptr<ui_pages>;

struct ui_file {
    const char* path;
    std::string_view text;
    const char* type;
};

// The entity tag is the digest, so that a browser asks again and is told that nothing has changed.
awaitable<> serve_file(exchange& x, const ui_file& file, const std::string& tag)
{
    http_reply reply;
    if (x.request().header("if-none-match").value_or("") == tag) {
        reply.status = 304;
    } else {
        reply.content_type = file.type;
        reply.body = file.text;
    }
    reply.with("ETag", tag);
    reply.with("Cache-Control", "no-cache");
    reply.with("Content-Security-Policy", std::string(policy));
    reply.with("X-Content-Type-Options", "nosniff");
    reply.with("Referrer-Policy", "no-referrer");
    return x.reply(std::move(reply));
}

http_reply told(const json::object& body)
{
    http_reply reply;
    reply.body = jsonrpc::write_json(body);
    reply.with("Cache-Control", "no-store");
    return reply;
}

awaitable<> give_session(exchange& x, ui_ptr self)
{
    const auto& request = x.request();
    const bool named = self->config.callers_have_names();
    const bool admin = request.who && request.who->scopes.covers(scope::admin);
    const auto* browser = self->browsers.find(request);
    json::object session;
    session["principal"] = request.principal;
    session["named"] = named;
    session["everything"] = admin && (!request.principal.empty() || self->admits_nameless);
    session["administers_keys"] = admin;
    session["by_cookie"] = browser != nullptr;
    session["csrf"] = browser != nullptr ? browser->csrf : "";
    session["version"] = CMCP_VERSION;
    return x.reply(told(session));
}

http_reply logged_in(ui_pages& self, const http_request& request, const login& who, std::string token)
{
    log::info("browser_login", {{"request", request.id}, {"principal", log::unless_empty(who.principal)}});
    http_reply reply;
    reply.with("Set-Cookie", self.browsers.begin(request, std::move(token)));
    reply.with("Cache-Control", "no-store");
    return reply;
}

awaitable<> log_in(exchange& x, ui_ptr self)
{
    auto token = text_of(jsonrpc::read_object(x.request().body, 4), "token");
    const auto judged = co_await self->logins.judge(x.request(), token);
    http_reply reply;
    if (judged.who) {
        reply = logged_in(*self, x.request(), *judged.who, std::move(token));
        reply.body = "{}";
    } else {
        reply = error_reply(judged.unavailable ? 503 : 403, judged.problem);
    }
    co_await x.reply(std::move(reply));
}

awaitable<> log_out(exchange& x, ui_ptr self)
{
    auto reply = told({});
    reply.with("Set-Cookie", self->browsers.end(x.request()));
    return x.reply(std::move(reply));
}

awaitable<> give_issuers(exchange& x, ui_ptr self)
{
    json::array names;
    if (self->flow.possible())
        for (const auto& issuer : self->config.auth_issuers) names.emplace_back(issuer);
    return x.reply(told({{"issuers", std::move(names)}}));
}

http_reply sent_to(std::string address)
{
    http_reply reply;
    reply.status = 303;
    reply.with("Location", std::move(address));
    reply.with("Cache-Control", "no-store");
    reply.with("Referrer-Policy", "no-referrer");
    return reply;
}

std::string keep_state(const http_request& request, std::string_view value, std::string_view life)
{
    std::string cookie(state_cookie);
    return cookie.append(value)
        .append("; Path=/ui; HttpOnly; SameSite=Lax; Max-Age=")
        .append(life)
        .append(request.secure ? "; Secure" : "");
}

// The answer has to come to the browser that has asked, or somebody could log others in as himself.
bool has_state(const http_request& request, std::string_view state)
{
    const auto cookies = request.header("cookie").value_or("");
    return !state.empty() && cookies.find(std::string(state_cookie) + std::string(state)) != std::string_view::npos;
}

awaitable<> begin_flow(exchange& x, ui_ptr self)
{
    const auto issuer = x.request().parameter("issuer").value_or("");
    const auto& known = self->config.auth_issuers;
    http_reply reply;
    if (!self->flow.possible() || std::ranges::find(known, issuer) == known.end()) {
        reply = error_reply(404, "Nobody can log in there: AUTH_ISSUERS and AUTH_UI_CLIENT name the issuers.");
    } else {
        const auto here = address_used(x.request(), self->config);
        std::string problem;
        try {
            code_flow::step wanted{issuer, here + "/ui/callback", here};
            const auto way = co_await self->flow.begin(std::move(wanted));
            reply = sent_to(way.url);
            reply.with("Set-Cookie", keep_state(x.request(), way.state, "600"));
        } catch (const std::runtime_error& failed) {
            problem = failed.what();
        }
        if (!problem.empty()) reply = error_reply(502, problem);
    }
    co_await x.reply(std::move(reply));
}

awaitable<http_reply> reply_to_callback(const http_request& request, ui_ptr self)
{
    auto state = request.parameter("state").value_or("");
    if (!has_state(request, state))
        co_return error_reply(403, "This login was not begun in this browser; begin at /ui.");
    const auto refused = request.parameter("error");
    if (refused) co_return error_reply(403, "The authorization server refused: " + refused->substr(0, 200));
    auto code = request.parameter("code").value_or("");
    auto token = co_await self->flow.finish(std::move(state), std::move(code));
    const auto judged = co_await self->logins.judge(request, token);
    if (!judged.who) co_return error_reply(403, judged.problem);
    auto reply = logged_in(*self, request, *judged.who, std::move(token));
    reply.status = 303;
    reply.with("Location", address_used(request, self->config) + "/ui");
    reply.with("Set-Cookie", keep_state(request, "", "0"));
    co_return reply;
}

awaitable<> end_flow(exchange& x, ui_ptr self)
{
    http_reply reply;
    std::string problem;
    try {
        reply = co_await reply_to_callback(x.request(), self);
    } catch (const std::runtime_error& failed) {
        problem = failed.what();
    }
    if (!problem.empty()) reply = error_reply(502, problem);
    co_await x.reply(std::move(reply));
}

struct ui_route {
    const char* method;
    const char* path;
    awaitable<> (*serve)(exchange&, ui_ptr);
    route_access access;
    route_body body;
};

constexpr ui_route ui_table[] = {
    {"GET", "/ui/session", give_session, route_access::caller, route_body::none},
    {"POST", "/ui/login", log_in, route_access::open, route_body::json},
    {"POST", "/ui/logout", log_out, route_access::caller, route_body::optional_json},
    {"GET", "/ui/issuers", give_issuers, route_access::open, route_body::none},
    {"GET", "/ui/oauth", begin_flow, route_access::open, route_body::none},
    {"GET", "/ui/callback", end_flow, route_access::open, route_body::none},
};

}  // namespace

void add_ui_routes(router& routes, const settings& config, ui_sources from)
{
    static const ui_file files[] = {{"/ui", ui::page, "text/html; charset=utf-8"},
                                    {"/ui/page.css", ui::style, "text/css; charset=utf-8"},
                                    {"/ui/page.js", ui::script, "text/javascript; charset=utf-8"}};
    for (const auto& file : files)
        routes.add({.methods = {"GET", "HEAD"},
                    .path = file.path,
                    .serve = [&file, tag = '"' + sha256_hex(file.text).substr(0, 16) +
                                           '"'](exchange& x) { return serve_file(x, file, tag); },
                    .access = route_access::open});
    const auto self = std::make_shared<ui_pages>(
        ui_pages{config, from.logins, from.browsers, code_flow(config, std::move(from.issuers)), from.admits_nameless});
    for (const auto& each : ui_table)
        routes.add({.methods = {each.method},
                    .path = each.path,
                    .serve = [self, &each](exchange& x) { return each.serve(x, self); },
                    .access = each.access,
                    .body = each.body,
                    .by_browser = true});
}

}  // namespace cmcp
