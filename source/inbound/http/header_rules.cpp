#include "http/header_rules.hpp"

#include "config/http_settings.hpp"
#include "http/relayed_fields.hpp"
#include "http/route.hpp"
#include "text/ascii.hpp"
#include "text/url_origin.hpp"
#include "text/words.hpp"

#include <algorithm>

namespace cmcp {

namespace {

// "name", "name:port" or "[v6]:port" without the port, as written; nothing for any other text.
std::optional<std::string_view> without_port(std::string_view host)
{
    auto end = host.empty() || host.front() != '[' ? host.find(':') : host.find(']');
    if (!host.empty() && host.front() == '[') {
        if (end == std::string_view::npos) return std::nullopt;
        ++end;
    }
    auto name = host.substr(0, end);
    auto rest = host.substr(name.size());
    if (name.empty() || (!rest.empty() && (rest.front() != ':' || !all_digits(rest.substr(1))))) return std::nullopt;
    return name;
}

bool is_loopback_name(std::string_view name)
{
    return equal_ignoring_case(name, "localhost") || name == "127.0.0.1" || name == "[::1]";
}

// A browser leaves out the port that the scheme has anyway.
bool same_port(std::string_view one, std::string_view other, std::string_view scheme)
{
    const std::string_view usual = equal_ignoring_case(scheme, "https") ? ":443" : ":80";
    const auto port = [usual](std::string_view host) {
        const auto rest = host.substr(without_port(host).value_or(host).size());
        return rest.size() > 1 ? rest : usual;
    };
    return port(one) == port(other);
}

std::string_view host_of(std::string_view origin)
{
    const auto authority = origin.substr(origin.find("://") + 3);
    return without_port(authority).value_or(authority);
}

// The origin stands in a sentence that people read, so only an ordinary one is repeated.
std::string origin_refusal(std::string_view origin)
{
    constexpr std::size_t longest = 200;
    const auto plain = [](char c) {
        return all_digits({&c, 1}) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') ||
               std::string_view(".:-[]/").find(c) != std::string_view::npos;
    };
    const bool address = origin.find("://") != std::string_view::npos && origin.size() <= longest &&
                         std::all_of(origin.begin(), origin.end(), plain);
    const std::string name(origin);
    if (!address) return "Requests from this Origin are refused; add it to MCP_ALLOWED_ORIGINS if it is yours.";
    return "Requests from pages of " + name + " are refused; add " + name + " to MCP_ALLOWED_ORIGINS if it is yours.";
}

// In HTTP/1.0 a balancer sends no Host (RFC 9112 section 3.2 asks for one from HTTP/1.1 on).
bool may_lack_host(const http_request& request)
{
    return request.version == 10 && request.count("host") == 0 && is_probe(request);
}

bool is_json(std::string_view content_type)
{
    auto type = content_type.substr(0, content_type.find(';'));
    while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
    return equal_ignoring_case(type, "application/json");
}

constexpr std::string_view usual_fields =
    "content-type, accept, authorization, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, x-request-id, "
    "last-event-id, range, if-range, if-none-match, dpop, traceparent, tracestate, baggage, idempotency-key";

// RFC 9110 section 5.6.2.
bool is_field_name(std::string_view name)
{
    const auto fits = [](char c) {
        return (to_lower(c) >= 'a' && to_lower(c) <= 'z') || all_digits({&c, 1}) ||
               std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
    };
    return !name.empty() && std::all_of(name.begin(), name.end(), fits);
}

// A page that may call at all may send whatever its libraries add: x-requested-with, cache-control, headers of traces,
// and Mcp-Param-*, whose names are those of the tools' arguments.
std::string fields_for_pages(std::string_view requested)
{
    std::string out(usual_fields);
    for (const auto part : split(requested, ','))
        if (const auto name = trimmed(part); is_field_name(name) && !lists_token(usual_fields, name))
            out.append(", ").append(name);
    return out;
}

}  // namespace

bool is_probe(const http_request& request)
{
    return request.target != nullptr && request.target->access == route_access::probe && request.query.empty();
}

// Fetch Metadata: Sec-Fetch-Site.
bool from_another_page(const http_request& request)
{
    const auto is = [&request](std::string_view name, std::string_view value) {
        return request.header(name).value_or("") == value;
    };
    // A value that is not known here is not this page's own.
    if (request.count("sec-fetch-site") == 0 || is("sec-fetch-site", "same-origin") || is("sec-fetch-site", "none"))
        return false;
    const bool link =
        is("sec-fetch-mode", "navigate") && (is("sec-fetch-dest", "document") || is("sec-fetch-dest", ""));
    return !link || (request.method != "GET" && request.method != "HEAD");
}

std::optional<http_reply> refuse_framing(const http_request& request)
{
    auto bad = [](int status, std::string_view sentence) {
        auto reply = error_reply(status, sentence);
        reply.close = true;
        return reply;
    };
    if (request.method == "CONNECT" || request.method == "TRACE") {
        auto reply = method_not_allowed("GET, POST, DELETE, OPTIONS");
        reply.close = true;
        return reply;
    }
    if (request.path.empty() || request.path.front() != '/')
        return bad(400, "The request target must be a path that begins with '/', or an http address of this server.");
    if (request.count("host") != 1 && !may_lack_host(request))
        return bad(400, "A request must have exactly one Host header.");
    if (request.count("content-length") > 1) return bad(400, "A request must not have two Content-Length headers.");
    auto length = request.header("content-length");
    auto coding = request.header("transfer-encoding");
    if (length && !all_digits(*length)) return bad(400, "Content-Length must be one decimal number.");
    if (length && coding) return bad(400, "Send either Content-Length or Transfer-Encoding, not both.");
    if (request.count("transfer-encoding") > 1 || (coding && !equal_ignoring_case(*coding, "chunked")))
        return bad(400, "Transfer-Encoding must be 'chunked' and nothing else.");
    if (coding && request.version == 10) return bad(400, "HTTP/1.0 has no Transfer-Encoding.");
    auto expected = request.header("expect");
    if (expected && !equal_ignoring_case(*expected, "100-continue"))
        return bad(417, "The only expectation that is met is 100-continue.");
    return std::nullopt;
}

std::optional<http_reply> refuse_media(const http_request& request)
{
    auto coding = request.header("content-encoding");
    if (coding && !equal_ignoring_case(*coding, "identity"))
        return error_reply(415, "Send the body without Content-Encoding.");
    if (request.method != "POST") return std::nullopt;
    const auto body = request.target == nullptr ? route_body::json : request.target->body;
    if (body == route_body::none || body == route_body::any || body == route_body::streamed) return std::nullopt;
    const bool has_body = request.header("transfer-encoding") || request.header("content-length").value_or("0") != "0";
    if (!has_body && body == route_body::optional_json) return std::nullopt;
    if (request.count("content-type") != 1 || !is_json(*request.header("content-type")))
        return error_reply(415, "Send the body with Content-Type: application/json.");
    return std::nullopt;
}

http_reply preflight(const http_request& request)
{
    http_reply reply;
    reply.status = 204;
    reply.with("Allow", "GET, POST, PUT, PATCH, DELETE, OPTIONS");
    if (!request.header("origin")) return reply;
    reply.with("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE, OPTIONS");
    reply.with("Access-Control-Allow-Headers",
               fields_for_pages(request.header("access-control-request-headers").value_or("")));
    reply.with("Access-Control-Max-Age", "600");
    return reply;
}

served_names::served_names(const http_settings& config)
    : config_(config), public_origin_(lower_case(origin_of(config.public_url)))
{
}

std::optional<http_reply> served_names::refuse_source(const http_request& request) const
{
    if (request.target != nullptr && request.target->claims && request.target->claims(request)) return std::nullopt;
    if (!may_lack_host(request) && !host_allowed(request.header("host").value_or("")))
        return error_reply(403, "This Host is not served; add it to MCP_ALLOWED_HOSTS if it is yours.");
    if (request.target != nullptr && request.target->relays) return std::nullopt;
    const auto origin = request.header("origin");
    if (request.count("origin") > 1 || (origin && !origin_allowed(*origin, request.header("host").value_or(""))))
        return error_reply(403, origin_refusal(*origin));
    if (!origin && from_another_page(request))
        return error_reply(403,
                           "A web page of another site or port loads this, which is refused; a page whose origin is in "
                           "MCP_ALLOWED_ORIGINS may use fetch() with CORS.");
    return std::nullopt;
}

void served_names::share_with_origin(const http_request& request, std::string& lines) const
{
    auto origin = request.header("origin");
    if (!origin || !origin_allowed(*origin, request.header("host").value_or(""))) return;
    append_field(lines, "Access-Control-Allow-Origin", *origin);
    append_field(lines, "Access-Control-Expose-Headers",
                 "Mcp-Session-Id, X-Request-Id, WWW-Authenticate, Content-Disposition, Content-Range, ETag");
    append_field(lines, "Vary", "Origin");
}

bool served_names::host_allowed(std::string_view host) const
{
    const auto& allowed = config_.allowed_hosts;
    return without_port(host) && (is_own_host(host) || std::find(allowed.begin(), allowed.end(), "*") != allowed.end());
}

bool served_names::is_own_host(std::string_view host) const
{
    auto name = without_port(host);
    if (!name) return false;
    if (is_loopback_name(*name)) return true;
    if (!public_origin_.empty() && equal_ignoring_case(*name, host_of(public_origin_))) return true;
    // A wildcard address to listen on is no name that a client has reason to use.
    bool wildcard = config_.host == "0.0.0.0" || config_.host == "::";
    const bool bracketed = name->starts_with('[');
    const auto bare = bracketed ? name->substr(1, name->size() - 2) : *name;
    if (!wildcard && equal_ignoring_case(bare, config_.host)) return true;
    auto fits = [&](const std::string& allowed) {
        return equal_ignoring_case(allowed, *name) || equal_ignoring_case(allowed, host);
    };
    return std::any_of(config_.allowed_hosts.begin(), config_.allowed_hosts.end(), fits);
}

bool served_names::origin_allowed(std::string_view origin, std::string_view host) const
{
    auto fits = [&](const std::string& allowed) { return allowed == "*" || equal_ignoring_case(allowed, origin); };
    if (std::any_of(config_.allowed_origins.begin(), config_.allowed_origins.end(), fits)) return true;
    if (!public_origin_.empty() && equal_ignoring_case(origin, public_origin_)) return is_own_host(host);
    const auto scheme = origin.substr(0, origin.find("://"));
    if (scheme.size() == origin.size()) return false;
    if (!equal_ignoring_case(scheme, "http") && !equal_ignoring_case(scheme, "https")) return false;
    const auto authority = origin.substr(scheme.size() + 3);
    // A page that rebinds its name to this address has a Host and an origin that agree, and neither is known here.
    if (!is_own_host(authority) || !is_own_host(host) || !same_port(authority, host, scheme)) return false;
    const auto name = *without_port(authority), called = *without_port(host);
    return equal_ignoring_case(name, called) || (is_loopback_name(name) && is_loopback_name(called));
}

}  // namespace cmcp
