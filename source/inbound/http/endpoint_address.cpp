#include "http/endpoint_address.hpp"

#include "config/http_settings.hpp"
#include "text/ascii.hpp"

#include <boost/url/parse.hpp>

#include <algorithm>
#include <optional>

namespace cmcp {

namespace {

constexpr std::size_t longest_prefix = 256;

std::string without_end_slashes(std::string_view path)
{
    while (path.ends_with('/')) path.remove_suffix(1);
    return std::string(path);
}

bool may_stand_in_path(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/-._~%").find(c) != std::string_view::npos;
}

// Two slashes in front would name another host.
bool is_prefix(std::string_view text)
{
    return text.size() <= longest_prefix && (text.empty() || text.starts_with('/')) && !text.starts_with("//") &&
           std::all_of(text.begin(), text.end(), may_stand_in_path);
}

bool forwarded(const http_request& request)
{
    constexpr std::string_view names[] = {"forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
                                          "x-forwarded-prefix"};
    return std::any_of(std::begin(names), std::end(names), [&](auto name) { return request.count(name) != 0; });
}

// The address stands in lines that people paste into a shell.
bool plain_address(std::string_view text)
{
    const auto plain = [](char c) {
        return (c >= '0' && c <= '9') || (to_lower(c) >= 'a' && to_lower(c) <= 'z') ||
               std::string_view(".:-_[]/").find(c) != std::string_view::npos;
    };
    return !text.empty() && std::all_of(text.begin(), text.end(), plain);
}

std::optional<std::string> known_prefix(const http_request& request, const std::string& public_url)
{
    const auto prefix = request.header("x-forwarded-prefix");
    if (prefix && is_prefix(*prefix)) return without_end_slashes(*prefix);
    if (!public_url.empty()) return path_of(public_url);
    return forwarded(request) ? std::nullopt : std::optional(std::string());
}

}  // namespace

std::string path_of(const std::string& url)
{
    const auto parsed = boost::urls::parse_uri(url);
    return parsed ? without_end_slashes(std::string_view(parsed->encoded_path())) : std::string();
}

std::string endpoint_address(const http_request& request, const std::string& public_url, std::string_view session)
{
    const auto prefix = known_prefix(request, public_url);
    const std::string beside = request.path.ends_with('/') ? "../" : "";
    return (prefix ? *prefix + "/" : beside) + "messages?sessionId=" + std::string(session);
}

// A proxy in front may be one that nobody has named, and still send the Host that its client has sent.
bool is_secure(const http_request& request, const http_settings& config)
{
    if (request.secure) return true;
    const auto parsed = boost::urls::parse_uri(config.public_url);
    return parsed && parsed->scheme() == "https" && !parsed->encoded_authority().empty() &&
           equal_ignoring_case(request.header("host").value_or(""), std::string_view(parsed->encoded_authority()));
}

std::string address_used(const http_request& request, const http_settings& config)
{
    if (!config.public_url.empty()) return without_end_slashes(config.public_url);
    const auto host = request.forwarded_host.empty() ? request.header("host").value_or("") : request.forwarded_host;
    const auto prefix =
        without_end_slashes(request.count("x-forwarded-prefix") == 1 ? *request.header("x-forwarded-prefix") : "");
    const std::string scheme = request.secure ? "https://" : "http://";
    if (!plain_address(host)) return scheme + "127.0.0.1:" + std::to_string(config.port);
    return scheme + std::string(host) + (prefix.starts_with('/') && plain_address(prefix) ? prefix : "");
}

}  // namespace cmcp
