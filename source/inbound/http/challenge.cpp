#include "http/challenge.hpp"

#include "config/settings.hpp"
#include "http/endpoint_address.hpp"
#include "identity/jose.hpp"

#include <utility>

namespace cmcp {

namespace {

// A character that would end the quotation is left out.
std::string quoted(std::string_view text)
{
    std::string out = "\"";
    for (const char c : text)
        if (c >= ' ' && c != '"' && c != '\\' && static_cast<unsigned char>(c) < 0x7f) out += c;
    return out + '"';
}

// A client registers with its authorization server for the scopes of the first challenge, and never gets others, so
// all that an ordinary caller needs is there at once.
std::string challenge(const http_request& request, const settings& config, std::string_view scheme,
                      std::string_view error, std::string_view sentence, scope_set scopes)
{
    std::string out(scheme);
    auto add = [&out, between = " "](std::string_view name, std::string_view value) mutable {
        if (!value.empty()) out.append(std::exchange(between, ", ")).append(name).append("=").append(quoted(value));
    };
    add("error", error);
    if (!error.empty()) add("error_description", sentence);
    add("scope", scopes.text());
    if (!config.auth_issuers.empty()) add("resource_metadata", metadata_address(request, config, request.path));
    if (scheme == "DPoP") add("algs", jose::algorithms);
    return out;
}

// With a slash at the end it is another resource (RFC 9728 section 3.1), which has metadata of its own.
bool is_endpoint(std::string_view path)
{
    return path == "/mcp" || path == "/mcp/" || path == "/sse" || path == "/sse/";
}

}  // namespace

scope_set offered_scopes(const settings& config)
{
    auto offered = scope_set::ordinary();
    if (!config.enable_web) offered = offered.without(scope::web);
    if (!config.enable_sandbox) offered = offered.without(scope_set(scope::sandboxes) | scope::packages);
    return offered;
}

std::string metadata_address(const http_request& request, const settings& config, std::string_view path)
{
    return address_used(request, config) + std::string(metadata_path) + std::string(is_endpoint(path) ? path : "");
}

std::optional<http_reply> refuse_scopes(const http_request& request, const settings& config, scope_set needed)
{
    if (request.who && request.who->scopes.covers(needed)) return std::nullopt;
    const bool by_issuer = request.who && request.who->from == login::source::issuer;
    const std::string missing = needed.without(request.who ? request.who->scopes : scope_set()).text();
    const std::string sentence = "This needs the scope " + (missing.empty() ? needed.text() : missing) +
                                 ", which your credentials do not have" +
                                 (by_issuer ? "; ask the authorization server for it." : "; ask who gave them to you.");
    auto reply = error_reply(403, sentence);
    const auto all = request.who ? request.who->scopes | needed : needed;
    reply.with("WWW-Authenticate", challenge(request, config, "Bearer", "insufficient_scope", sentence, all));
    return reply;
}

http_reply refusal_of_login(const http_request& request, const gatekeeper& logins, const admission& refused)
{
    if (refused.unavailable) return error_reply(503, refused.problem, "NotAvailable").with("Retry-After", "30");
    const auto& config = logins.config();
    auto reply = error_reply(401, refused.problem);
    const auto scopes = logins.has_issuers() ? offered_scopes(config) : scope_set();
    reply.with("WWW-Authenticate", challenge(request, config, "Bearer", refused.error, refused.problem, scopes));
    if (logins.has_issuers() && config.auth_dpop != "off")
        reply.with("WWW-Authenticate", challenge(request, config, "DPoP", refused.error, refused.problem, scopes));
    return reply;
}

}  // namespace cmcp
