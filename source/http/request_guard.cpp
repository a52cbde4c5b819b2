#include "http/request_guard.hpp"
#include "text/ascii.hpp"

#include <algorithm>

namespace cmcp {

namespace {

bool all_digits(std::string_view text)
{
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "name", "name:port" or "[v6]:port" without its port, as it is written; nothing when it is none of these.
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

// The time must not tell how many characters of a token are right.
bool same_secret(std::string_view given, std::string_view secret)
{
    unsigned char difference = given.size() == secret.size() ? 0 : 1;
    for (std::size_t i = 0; i < given.size(); ++i)
        difference =
            static_cast<unsigned char>(difference | (given[i] ^ (secret.empty() ? '\0' : secret[i % secret.size()])));
    return difference == 0;
}

std::optional<std::string_view> bearer_token(const http_request& asked)
{
    constexpr std::string_view scheme = "Bearer ";
    const auto given = asked.count("authorization") == 1 ? *asked.header("authorization") : std::string_view();
    const bool bearer = given.size() > scheme.size() && equal_ignoring_case(given.substr(0, scheme.size()), scheme);
    return bearer ? std::optional(given.substr(scheme.size())) : std::nullopt;
}

// Pages that say how the server is and that hold no secret: a balancer asks for them without a token, and in HTTP/1.0
// without a Host (RFC 9112 section 3.2 asks for one from HTTP/1.1 on).
bool is_health_probe(const http_request& asked)
{
    return (asked.path == "/healthz" || asked.path == "/livez") && asked.query.empty();
}

bool may_lack_host(const http_request& asked)
{
    return asked.version == 10 && asked.count("host") == 0 && is_health_probe(asked);
}

bool is_json(std::string_view content_type)
{
    auto type = content_type.substr(0, content_type.find(';'));
    while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
    return equal_ignoring_case(type, "application/json");
}

// Mcp-Param-* headers carry arguments of tools (2026-07-28): their names are the tools' own.
std::string mirrored_parameters(std::string_view asked)
{
    std::string out;
    for (auto rest = asked; !rest.empty();) {
        auto name = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(name.size() + 1, rest.size()));
        while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
        if (equal_ignoring_case(name.substr(0, 10), "mcp-param-")) out.append(", ").append(name);
    }
    return out;
}

}  // namespace

request_guard::request_guard(const settings& chosen) : chosen_(chosen) {}

std::optional<http_reply> request_guard::check(http_request& asked) const
{
    if (auto refused = check_framing(asked)) return refused;
    if (auto refused = check_source(asked)) return refused;
    if (asked.method == "OPTIONS") return preflight(asked);
    if (auto refused = authenticate(asked)) return refused;
    return check_media(asked);
}

std::optional<http_reply> request_guard::check_framing(const http_request& asked) const
{
    auto bad = [](int status, std::string_view sentence) {
        auto reply = error_reply(status, sentence);
        reply.close = true;
        return reply;
    };
    if (asked.method == "CONNECT" || asked.method == "TRACE") {
        auto reply = method_not_allowed("GET, POST, DELETE, OPTIONS");
        reply.close = true;
        return reply;
    }
    if (asked.path.empty() || asked.path.front() != '/')
        return bad(400, "The request target must be a path that begins with '/': this server is no proxy.");
    if (asked.count("host") != 1 && !may_lack_host(asked))
        return bad(400, "A request must have exactly one Host header.");
    if (asked.count("content-length") > 1) return bad(400, "A request must not have two Content-Length headers.");
    auto length = asked.header("content-length");
    auto coding = asked.header("transfer-encoding");
    if (length && !all_digits(*length)) return bad(400, "Content-Length must be one decimal number.");
    if (length && coding) return bad(400, "Send either Content-Length or Transfer-Encoding, not both.");
    if (asked.count("transfer-encoding") > 1 || (coding && !equal_ignoring_case(*coding, "chunked")))
        return bad(400, "Transfer-Encoding must be 'chunked' and nothing else.");
    if (coding && asked.version == 10) return bad(400, "HTTP/1.0 has no Transfer-Encoding.");
    auto expected = asked.header("expect");
    if (expected && !equal_ignoring_case(*expected, "100-continue"))
        return bad(417, "The only expectation that is met is 100-continue.");
    return std::nullopt;
}

std::optional<http_reply> request_guard::check_source(const http_request& asked) const
{
    if (!may_lack_host(asked) && !host_allowed(asked.header("host").value_or("")))
        return error_reply(403, "This Host is not served; add it to MCP_ALLOWED_HOSTS if it is yours.");
    if (asked.count("origin") > 1 || !origin_allowed(asked.header("origin").value_or("http://localhost")))
        return error_reply(403, "Requests from this Origin are refused; add it to MCP_ALLOWED_ORIGINS if it is yours.");
    return std::nullopt;
}

std::optional<http_reply> request_guard::check_media(const http_request& asked) const
{
    auto coding = asked.header("content-encoding");
    if (coding && !equal_ignoring_case(*coding, "identity"))
        return error_reply(415, "Send the body without Content-Encoding.");
    if (asked.method != "POST" || asked.path == "/sandbox/file") return std::nullopt;
    const bool has_body = asked.header("transfer-encoding") || asked.header("content-length").value_or("0") != "0";
    if (!has_body && asked.path.starts_with("/mcp/tools/")) return std::nullopt;
    if (asked.count("content-type") != 1 || !is_json(*asked.header("content-type")))
        return error_reply(415, "Send the body with Content-Type: application/json.");
    return std::nullopt;
}

std::optional<http_reply> request_guard::authenticate(http_request& asked) const
{
    if (chosen_.auth_tokens.empty()) return std::nullopt;
    if (is_health_probe(asked)) return std::nullopt;
    if (asked.path == "/docs" && asked.method != "POST")
        return std::nullopt;  // a page without a secret, with a field for the token
    if (asked.path == "/" && asked.method != "POST" && takes_html(asked))
        return std::nullopt;  // says that a token is needed
    const auto token = bearer_token(asked);
    bool known = false;
    for (const auto& [name, secret] : chosen_.auth_tokens)
        if (token && same_secret(*token, secret) && !known) {
            asked.principal = name;
            known = true;
        }
    if (known) return std::nullopt;
    auto reply = error_reply(401, token ? "The bearer token is not known here; check it against MCP_AUTH_TOKENS."
                                        : "Send 'Authorization: Bearer <token>' with a token of MCP_AUTH_TOKENS.");
    reply.with("WWW-Authenticate", token ? "Bearer error=\"invalid_token\"" : "Bearer");
    return reply;
}

std::string_view request_guard::login_problem(const http_request& asked)
{
    if (bearer_token(asked)) return "unknown token";
    return asked.count("authorization") == 0 ? "no token" : "no bearer token";
}

http_reply request_guard::preflight(const http_request& asked) const
{
    http_reply reply;
    reply.status = 204;
    reply.with("Allow", "GET, POST, DELETE, OPTIONS");
    if (!asked.header("origin")) return reply;
    reply.with("Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS");
    reply.with("Access-Control-Allow-Headers",
               "content-type, accept, authorization, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, "
               "x-request-id, "
               "last-event-id, range, if-range, if-none-match" +
                   mirrored_parameters(asked.header("access-control-request-headers").value_or("")));
    reply.with("Access-Control-Max-Age", "600");
    return reply;
}

void request_guard::share_with_origin(const http_request& asked, std::string& lines) const
{
    auto origin = asked.header("origin");
    if (!origin || !origin_allowed(*origin)) return;
    append_field(lines, "Access-Control-Allow-Origin", *origin);
    append_field(lines, "Access-Control-Expose-Headers",
                 "Mcp-Session-Id, X-Request-Id, WWW-Authenticate, Content-Disposition, Content-Range, ETag");
    append_field(lines, "Vary", "Origin");
}

bool request_guard::host_allowed(std::string_view host) const
{
    auto name = without_port(host);
    if (!name) return false;
    if (is_loopback_name(*name)) return true;
    // A wildcard address to listen on is no name that a client has reason to use.
    bool wildcard = chosen_.host == "0.0.0.0" || chosen_.host == "::";
    const bool bracketed = name->starts_with('[');
    const auto bare = bracketed ? name->substr(1, name->size() - 2) : *name;
    if (!wildcard && equal_ignoring_case(bare, chosen_.host)) return true;
    auto fits = [&](const std::string& allowed) {
        return allowed == "*" || equal_ignoring_case(allowed, *name) || equal_ignoring_case(allowed, host);
    };
    return std::any_of(chosen_.allowed_hosts.begin(), chosen_.allowed_hosts.end(), fits);
}

bool request_guard::origin_allowed(std::string_view origin) const
{
    auto fits = [&](const std::string& allowed) { return allowed == "*" || equal_ignoring_case(allowed, origin); };
    if (std::any_of(chosen_.allowed_origins.begin(), chosen_.allowed_origins.end(), fits)) return true;
    auto scheme = origin.substr(0, origin.find("://"));
    if (scheme.size() == origin.size()) return false;
    if (!equal_ignoring_case(scheme, "http") && !equal_ignoring_case(scheme, "https")) return false;
    auto name = without_port(origin.substr(scheme.size() + 3));
    return name && is_loopback_name(*name);
}

}  // namespace cmcp
