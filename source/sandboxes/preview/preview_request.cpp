#include "preview/preview_request.hpp"

#include "http/request_guard.hpp"
#include "text/ascii.hpp"
#include "text/html.hpp"
#include "text/words.hpp"

#include <algorithm>

namespace cmcp {
namespace {

std::string with_query(std::string_view path, std::string_view query)
{
    return std::string(path) + (query.empty() ? "" : "?") + std::string(query);
}

// With TLS no other origin of the domain can set a cookie of this name (RFC 6265bis section 4.1.3.2).
std::string cookie_name(std::string_view scheme)
{
    return (scheme == "https" ? "__Host-" : "") + std::string(preview_parameter);
}

std::vector<std::string> tokens_in_cookies(const http_request& request, std::string_view name)
{
    std::vector<std::string> tokens;
    for (const auto& [field, value] : request.fields) {
        if (field != "cookie") continue;
        for (const auto part : split(value, ';')) {
            const auto cookie = trimmed(part);
            const auto equals = cookie.find('=');
            if (equals != std::string_view::npos && cookie.substr(0, equals) == name)
                tokens.emplace_back(cookie.substr(equals + 1));
        }
    }
    return tokens;
}

preview_request read_path(const http_request& request, preview_view view)
{
    preview_request wanted;
    const auto rest = std::string_view(request.path).substr(preview_folder.size());
    const auto token = rest.substr(0, rest.find('/'));
    wanted.tokens.emplace_back(token);
    wanted.lacks_slash = token.size() == rest.size();
    view.prefix += std::string(preview_folder) + std::string(token);
    wanted.target = with_query(rest.substr(token.size()), request.query);
    wanted.view = std::move(view);
    return wanted;
}

std::optional<preview_request> read_own_origin(const http_request& request, std::string_view domain, preview_view view)
{
    auto label = read_label(view.host, domain);
    if (!label) return std::nullopt;
    preview_request wanted;
    view.own_origin = true;
    view.port = label->port;
    wanted.label = std::move(*label);
    const auto parameter = request.parameter(preview_parameter);
    wanted.brings_parameter = parameter.has_value();
    wanted.tokens = tokens_in_cookies(request, cookie_name(view.scheme));
    if (parameter) wanted.tokens = {*parameter};
    wanted.target = with_query(request.path, parameter ? without_preview_parameter(request.query) : request.query);
    wanted.view = std::move(view);
    return wanted;
}

// The address of a path is the secret, and its page has an opaque origin; an own origin has cookies.
bool is_of_strange_page(const http_request& request, const preview_request& wanted)
{
    const auto origin = request.header("origin");
    if (request.count("origin") > 1) return true;
    if (!origin) return wanted.view.own_origin && from_another_page(request);
    if (!wanted.view.own_origin && *origin == "null") return false;
    const auto mark = origin->find("://");
    return mark == std::string_view::npos || !equal_ignoring_case(origin->substr(mark + 3), wanted.view.host);
}

http_reply preflight_of_path(const http_request& request)
{
    http_reply reply;
    reply.status = 204;
    reply.with("Access-Control-Allow-Origin", "null");
    reply.with("Access-Control-Allow-Methods", std::string(*request.header("access-control-request-method")));
    reply.with("Access-Control-Allow-Headers",
               std::string(request.header("access-control-request-headers").value_or("")));
    reply.with("Access-Control-Max-Age", "600");
    return reply;
}

http_reply lead_to(int status, std::string place)
{
    http_reply reply;
    reply.status = status;
    reply.with("Location", std::move(place));
    reply.with("Cache-Control", "no-store");
    reply.with("Referrer-Policy", "no-referrer");
    return reply;
}

}  // namespace

std::optional<preview_request> read_preview_request(const http_request& request, std::string_view domain,
                                                    std::string_view server)
{
    const auto mark = server.find("://");
    const auto path = mark == std::string_view::npos ? mark : server.find('/', mark + 3);
    preview_view view;
    view.host = request.header("host").value_or("");
    view.scheme = request.secure || server.starts_with("https:") ? "https" : "http";
    if (is_beneath(view.host, domain)) return read_own_origin(request, domain, std::move(view));
    if (path != std::string_view::npos) view.prefix = server.substr(path);
    return read_path(request, std::move(view));
}

std::optional<http_reply> answer_before(const http_request& request, const preview_request& wanted)
{
    if (is_of_strange_page(request, wanted))
        return error_reply(403, "A page of another origin loads this, which is refused; open the link itself.");
    if (wanted.view.own_origin) return std::nullopt;
    if (request.header("service-worker"))
        return error_reply(403,
                           "A page below a path of the server gets no service worker; it needs MCP_PREVIEW_DOMAIN.");
    if (request.method == "OPTIONS" && request.header("access-control-request-method"))
        return preflight_of_path(request);
    if (!wanted.lacks_slash) return std::nullopt;
    return lead_to(308, with_query(wanted.view.prefix + "/", request.query));
}

http_reply lead_to_page(const preview_request& wanted, std::string_view token, long life)
{
    const auto start = std::min(wanted.target.find_first_not_of("/\\"), wanted.target.size());
    auto reply = lead_to(303, "/" + wanted.target.substr(start));
    reply.with("Set-Cookie", cookie_name(wanted.view.scheme) + "=" + std::string(token) +
                                 "; Path=/; Max-Age=" + std::to_string(std::max(1l, life)) +
                                 "; HttpOnly; SameSite=Lax" + (wanted.view.scheme == "https" ? "; Secure" : ""));
    return reply;
}

http_reply preview_problem(const http_request& request, int status, const std::string& sentence)
{
    if (!takes_html(request)) return error_reply(status, sentence);
    http_reply page;
    page.status = status;
    page.content_type = "text/html; charset=utf-8";
    page.body =
        "<!doctype html><meta name=viewport content='width=device-width'><title>Container-MCP</title>"
        "<body style='font:1em/1.5 sans-serif;margin:4em auto;max-width:36em;padding:0 1em'><p>" +
        html_escaped(sentence) + "</p>";
    page.with("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
    page.with("X-Content-Type-Options", "nosniff");
    page.with("Referrer-Policy", "no-referrer");
    page.with("Cache-Control", "no-store");
    return page;
}

}  // namespace cmcp
