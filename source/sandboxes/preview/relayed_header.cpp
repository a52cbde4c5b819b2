#include "preview/relayed_header.hpp"

#include "http/http_reply.hpp"
#include "http/member_caller.hpp"
#include "http/relayed_fields.hpp"
#include "preview/preview_names.hpp"
#include "text/ascii.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace cmcp {

namespace http = boost::beast::http;

namespace {

// The relay writes these itself, or the program has no business with them.
bool is_never_asked(std::string_view name)
{
    return is_any_of(name, {"host", "expect", "forwarded", "mcp-session-id", member_caller_field}) ||
           equal_ignoring_case(name.substr(0, 12), "x-forwarded-");
}

std::string other_cookies(std::string_view cookies)
{
    std::string kept;
    for (const auto part : split(cookies, ';')) {
        const auto cookie = trimmed(part);
        if (cookie.substr(0, cookie.find('=')).find(preview_parameter) != std::string_view::npos) continue;
        kept.append(kept.empty() ? "" : "; ").append(cookie);
    }
    return kept;
}

std::string local_host(const preview_view& view) { return "localhost:" + std::to_string(view.port); }

// Below a path the server's origin has the cookies, and the address names the token. Credentials are the program's own
// unless the server would take them.
bool is_the_servers_own(std::string_view name, const preview_view& view)
{
    if (is_any_of(name, {"authorization", "dpop"})) return view.knows_token;
    return !view.own_origin && is_any_of(name, {"cookie", "referer"});
}

void put_field(port_request& into, std::string_view name, std::string_view value, const preview_view& view)
{
    const auto insert = [&](std::string_view text) {
        into.insert({name.data(), name.size()}, {text.data(), text.size()});
    };
    if (equal_ignoring_case(name, "origin")) return insert("http://" + local_host(view));
    if (!equal_ignoring_case(name, "cookie")) return insert(value);
    if (const std::string kept = other_cookies(value); !kept.empty()) insert(kept);
}

// Fields that an origin of its own may have, except those for whole domains and other ports.
bool passes_from_own_origin(std::string_view name)
{
    return !is_any_of(name,
                      {"strict-transport-security", "alt-svc", "public-key-pins", "expect-ct", member_place_field});
}

// Below a path only fields that are known to concern the answer alone.
bool passes_from_path(std::string_view name)
{
    return is_any_of(name, {"accept-ranges",
                            "age",
                            "allow",
                            "cache-control",
                            "content-disposition",
                            "content-encoding",
                            "content-language",
                            "content-range",
                            "content-security-policy",
                            "content-type",
                            "date",
                            "etag",
                            "expires",
                            "last-modified",
                            "location",
                            "retry-after",
                            "server-timing",
                            "vary",
                            "x-accel-buffering",
                            "x-robots-tag",
                            "x-total-count",
                            "x-powered-by"});
}

// A cookie for the whole domain would be every preview's.
bool is_cookie_of_its_own(std::string_view cookie)
{
    const auto parts = split(cookie, ';');
    if (parts[0].find(preview_parameter) != std::string_view::npos) return false;
    return std::none_of(parts.begin() + 1, parts.end(), [](std::string_view part) {
        return equal_ignoring_case(trimmed(part.substr(0, part.find('='))), "domain");
    });
}

void append_protection(std::string& head)
{
    append_field(head, "Content-Security-Policy",
                 "sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads");
    append_field(head, "X-Content-Type-Options", "nosniff");
    append_field(head, "Referrer-Policy", "no-referrer");
    // The page's origin is opaque, so it may load only what all may, and call only what says "null".
    append_field(head, "Cross-Origin-Resource-Policy", "cross-origin");
    append_field(head, "Access-Control-Allow-Origin", "null");
}

bool is_dots(std::string_view segment, std::size_t count)
{
    std::string plain;
    for (std::size_t i = 0; i < segment.size(); ++i) {
        const bool encoded = equal_ignoring_case(segment.substr(i, 3), "%2e");
        plain += encoded ? '.' : segment[i];
        i += encoded ? 2 : 0;
    }
    return plain == std::string(count, '.');
}

// RFC 3986 section 5.2.4, as browsers do it, who take a backslash for a slash, too.
std::string without_dots(std::string path)
{
    std::replace(path.begin(), path.end(), '\\', '/');
    std::vector<std::string_view> kept;
    const auto segments = split(std::string_view(path).substr(1), '/');
    for (const auto segment : segments) {
        if (is_dots(segment, 2) && !kept.empty()) kept.pop_back();
        if (!is_dots(segment, 1) && !is_dots(segment, 2)) kept.push_back(segment);
    }
    if (is_dots(segments.back(), 1) || is_dots(segments.back(), 2)) kept.emplace_back();
    std::string clean;
    for (const auto segment : kept) clean.append("/").append(segment);
    return clean.empty() ? "/" : clean;
}

bool is_own_authority(std::string_view authority, const preview_view& view)
{
    const std::string port = ":" + std::to_string(view.port);
    for (const std::string_view name : {"localhost", "127.0.0.1", "[::1]", "0.0.0.0"})
        if (equal_ignoring_case(authority, std::string(name) + port)) return true;
    return equal_ignoring_case(authority, view.host);
}

// The part from the path on, where the address is the program's own; nothing: it is another's.
std::optional<std::string> own_reference(std::string_view location, std::string_view target, const preview_view& view)
{
    auto rest = location;
    for (const std::string_view scheme : {"http:", "https:"})
        if (equal_ignoring_case(rest.substr(0, scheme.size()), scheme)) rest.remove_prefix(scheme.size());
    if (rest.starts_with("//") || rest.starts_with("/\\") || rest.starts_with("\\")) {
        if (!rest.starts_with("//")) return std::nullopt;
        const auto authority = rest.substr(2, rest.find_first_of("/\\?#", 2) - 2);
        if (!is_own_authority(authority, view)) return std::nullopt;
        const std::string after(rest.substr(2 + authority.size()));
        return after.starts_with('/') ? after : "/" + after;
    }
    if (rest.size() != location.size()) return std::nullopt;
    const auto stop = rest.find_first_of(":/?#");
    if (stop != std::string_view::npos && rest[stop] == ':') return std::nullopt;  // another scheme
    if (rest.starts_with('/')) return std::string(rest);
    const auto path = target.substr(0, target.find('?'));
    if (rest.empty() || rest.front() == '?' || rest.front() == '#') return std::string(path) + std::string(rest);
    return std::string(path.substr(0, path.rfind('/') + 1)) + std::string(rest);
}

}  // namespace

port_request request_to_port(const http_request& from, const std::string& target, const preview_view& view)
{
    port_request to;
    to.version(11);
    to.method_string(from.method);
    to.target(target);
    to.set(http::field::host, local_host(view));
    const auto connection = from.header("connection").value_or("");
    const bool upgrades = wants_websocket(from);
    for (const auto& [name, value] : from.fields) {
        if (is_hop_by_hop(name, connection) || is_never_asked(name) || is_the_servers_own(name, view)) continue;
        put_field(to, name, value, view);
    }
    to.set(http::field::connection, upgrades ? "Upgrade" : "close");
    if (upgrades) to.set(http::field::upgrade, "websocket");
    to.set("X-Forwarded-Proto", view.scheme);
    if (view.own_origin) to.set("X-Forwarded-Host", view.host);
    if (!view.own_origin) to.set("X-Forwarded-Prefix", view.prefix);
    return to;
}

std::string head_of_answer(const port_answer& from, std::string_view target, const preview_view& view)
{
    std::string head = status_line(from);
    const auto connection = relayed_value(from, http::field::connection);
    for (const auto& each : from) {
        const std::string_view name(each.name_string().data(), each.name_string().size());
        const std::string_view value(each.value().data(), each.value().size());
        if (is_hop_by_hop(name, connection)) continue;
        if (!(view.own_origin ? passes_from_own_origin(name) : passes_from_path(name))) continue;
        if (equal_ignoring_case(name, "set-cookie") && !is_cookie_of_its_own(value)) continue;
        const bool moves = equal_ignoring_case(name, "location");
        append_field(head, name, moves ? location_for_client(value, target, view) : std::string(value));
    }
    if (!view.own_origin) append_protection(head);
    return head;
}

std::string head_of_passed_answer(const port_answer& from, bool own_origin)
{
    std::string head = status_line(from);
    const auto connection = relayed_value(from, http::field::connection);
    for (const auto& each : from) {
        const std::string_view name(each.name_string().data(), each.name_string().size());
        const std::string_view value(each.value().data(), each.value().size());
        if (is_hop_by_hop(name, connection) || !(own_origin ? passes_from_own_origin(name) : passes_from_path(name)))
            continue;
        if (!equal_ignoring_case(name, "set-cookie") || is_cookie_of_its_own(value)) append_field(head, name, value);
    }
    if (!own_origin) append_protection(head);
    return head;
}

std::string location_for_client(std::string_view location, std::string_view target, const preview_view& view)
{
    const auto own = own_reference(trimmed(location, white_space), target, view);
    if (!own) return std::string(location);
    const auto end = std::min(own->find_first_of("?#"), own->size());
    return view.prefix + without_dots(own->substr(0, end)) + own->substr(end);
}

}  // namespace cmcp
