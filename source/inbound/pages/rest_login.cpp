#include "config/settings.hpp"
#include "http/cookies.hpp"
#include "http/endpoint_address.hpp"
#include "http/request_record.hpp"
#include "identity/code_flow.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/bounded_log.hpp"
#include "pages/page_files.hpp"
#include "rest/rest_routes.hpp"
#include "text/html.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace cmcp {

namespace {

constexpr const char* state_cookie = "cmcp-state";
constexpr std::size_t longest_error = 200;

struct login_pages {
    ui_sources from;
    code_flow flow;
    log::bounded_log refusals{"logins_refused_more"};
};

using login_pages_ptr = std::shared_ptr<login_pages>;

http_reply logged_in(login_pages& self, const http_request& request, const login& who, std::string token)
{
    log::info("browser_login", {{"request", request.id},
                                {"peer", request.address},
                                {"principal", log::unless_empty(who.principal)},
                                {"by", who.credential}});
    record_login(request, who, "browser");
    http_reply reply;
    reply.with("Set-Cookie", self.from.browsers.begin(request, std::move(token)));
    reply.with("Cache-Control", "no-store");
    return reply;
}

void note_failed_login(login_pages& self, const http_request& request, std::string_view reason)
{
    record_refused_login(request, reason);
    if (!self.refusals.may_write()) return;
    log::warning("login_refused", {{"request", request.id},
                                   {"peer", request.address},
                                   {"method", request.method},
                                   {"path", request.target->path},
                                   {"reason", reason}});
}

// ---------------------------------------------------------------- by a token
awaitable<> log_in(exchange& x, login_pages_ptr self)
{
    auto token = text_of(jsonrpc::read_object(x.request().body, 4), "token");
    const auto judged = co_await self->from.logins.judge(x.request(), token);
    http_reply reply;
    if (judged.who) {
        reply = logged_in(*self, x.request(), *judged.who, std::move(token));
        reply.body = "{}";
    } else {
        note_failed_login(*self, x.request(), judged.problem);
        reply = error_reply(judged.unavailable ? 503 : 403, judged.problem, judged.unavailable ? "NotAvailable" : "");
    }
    co_await x.reply(std::move(reply));
}

awaitable<> log_out(exchange& x, login_pages_ptr self)
{
    http_reply reply;
    reply.body = "{}";
    reply.with("Set-Cookie", self->from.browsers.end(x.request()));
    reply.with("Cache-Control", "no-store");
    return x.reply(std::move(reply));
}

// ---------------------------------------------------------------- at an authorization server
awaitable<> give_issuers(exchange& x, login_pages_ptr self)
{
    json::array names;
    if (self->flow.possible())
        for (const auto& issuer : self->from.config.auth_issuers) names.emplace_back(issuer);
    http_reply reply;
    reply.body = jsonrpc::write_json(json::object{{"issuers", std::move(names)}});
    reply.with("Cache-Control", "no-store");
    return x.reply(std::move(reply));
}

// A person reads this, because the browser has followed a link. The addresses are those of a page below /ui.
http_reply failed_page(login_pages& self, const http_request& request, int status, const std::string& sentence)
{
    note_failed_login(self, request, sentence);
    http_reply reply;
    reply.status = status;
    reply.content_type = html_type;
    reply.body =
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width, initial-scale=1\"><title>Not logged in</title><link rel=\"stylesheet\" "
        "href=\"page.css\"><main class=\"login\"><h1>Not logged in</h1><p>" +
        html_escaped(sentence) + "</p><p><a href=\"../ui\">Back to the login</a></p></main></html>";
    reply.with("Cache-Control", "no-store");
    return protect_page(reply);
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

// The authorization server leads back here, so the cookie has to come with a navigation from elsewhere.
std::string keep_state(const login_pages& self, const http_request& request, std::string_view value, int life)
{
    const auto& config = self.from.config;
    std::string cookie(state_cookie);
    return cookie.append("=")
        .append(value)
        .append("; Path=" + path_of(address_used(request, config)) + "/ui")
        .append("; HttpOnly; SameSite=Lax; Max-Age=" + std::to_string(life))
        .append(is_secure(request, config) ? "; Secure" : "");
}

code_flow::own_urls own_urls_of(const login_pages& self, const http_request& request)
{
    const auto here = address_used(request, self.from.config);
    return {here + "/ui/callback", here};
}

awaitable<http_reply> reply_to_beginning(const http_request& request, login_pages_ptr self)
{
    constexpr int life = 600;  // seconds
    const auto issuer = request.parameter("issuer").value_or("");
    const auto& known = self->from.config.auth_issuers;
    if (!self->flow.possible() || std::ranges::find(known, issuer) == known.end())
        co_return failed_page(*self, request, 404,
                              "Nobody can log in there: AUTH_ISSUERS and AUTH_UI_CLIENT name the issuers.");
    auto here = own_urls_of(*self, request);
    const auto way = co_await self->flow.begin(issuer, std::move(here));
    auto reply = sent_to(way.url);
    reply.with("Set-Cookie", keep_state(*self, request, way.state, life));
    co_return reply;
}

// The answer has to come to the browser that has begun, or somebody could log others in as himself.
awaitable<http_reply> reply_to_callback(const http_request& request, login_pages_ptr self)
{
    code_flow::answer back{request.parameter("state").value_or(""), request.parameter("code").value_or(""),
                           request.parameter("iss").value_or("")};
    if (back.state.empty() || cookie_in(request, state_cookie) != back.state)
        co_return failed_page(*self, request, 403, "This login was not begun in this browser; begin it again.");
    if (const auto error = request.parameter("error")) {
        const auto more = request.parameter("error_description").value_or("");
        co_return failed_page(*self, request, 403,
                              "The authorization server refused: " +
                                  (*error + (more.empty() ? "" : ": ") + more).substr(0, longest_error));
    }
    auto here = own_urls_of(*self, request);
    auto token = co_await self->flow.finish(std::move(back), std::move(here));
    const auto judged = co_await self->from.logins.judge(request, token);
    if (!judged.who) co_return failed_page(*self, request, 403, judged.problem);
    auto reply = logged_in(*self, request, *judged.who, std::move(token));
    reply.status = 303;
    reply.with("Location", address_used(request, self->from.config) + "/ui");
    reply.with("Set-Cookie", keep_state(*self, request, "", 0));
    co_return reply;
}

template <awaitable<http_reply> (*Reply)(const http_request&, login_pages_ptr)>
awaitable<> serve_step(exchange& x, login_pages_ptr self)
{
    http_reply reply;
    std::string problem;
    try {
        reply = co_await Reply(x.request(), self);
    } catch (const boost::system::system_error&) {
        throw;
    } catch (const std::runtime_error& failed) {
        problem = failed.what();
    }
    if (!problem.empty()) reply = failed_page(*self, x.request(), 502, problem);
    co_await x.reply(std::move(reply));
}

struct login_route {
    const char* method;
    const char* path;
    awaitable<> (*serve)(exchange&, login_pages_ptr);
    route_access access;
    route_body body;
};

constexpr login_route login_table[] = {
    {"POST", "/ui/login", log_in, route_access::open, route_body::json},
    {"POST", "/ui/logout", log_out, route_access::caller, route_body::optional_json},
    {"GET", "/ui/issuers", give_issuers, route_access::open, route_body::none},
    {"GET", "/ui/oauth", serve_step<reply_to_beginning>, route_access::open, route_body::none},
    {"GET", "/ui/callback", serve_step<reply_to_callback>, route_access::open, route_body::none},
};

}  // namespace

void add_login_routes(router& routes, const ui_sources& from)
{
    const auto self = std::make_shared<login_pages>(login_pages{from, code_flow(from.config, from.issuers)});
    for (const auto& each : login_table)
        routes.add({.methods = {each.method},
                    .path = each.path,
                    .serve = [self, &each](exchange& x) { return each.serve(x, self); },
                    .access = each.access,
                    .body = each.body,
                    .by_browser = true});
}

}  // namespace cmcp
