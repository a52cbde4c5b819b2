#include "preview/preview_names.hpp"

#include "text/ascii.hpp"
#include "text/handles.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <charconv>

namespace cmcp {
namespace {

constexpr std::size_t random_digits = 32;
constexpr std::size_t longest_node = 24;  // beside a port of five digits

// A Host without its port and the dot that may end a name.
std::string_view name_in(std::string_view host)
{
    const auto colon = host.rfind(':');
    if (colon != std::string_view::npos && all_digits(host.substr(colon + 1))) host = host.substr(0, colon);
    if (host.ends_with('.')) host.remove_suffix(1);
    return host;
}

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool is_node(std::string_view text)
{
    const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    return !text.empty() && text.size() <= longest_node && text.back() != '-' &&
           std::all_of(text.begin(), text.end(), plain);
}

std::string digits_of(const port_link& link) { return link.sandbox.substr(link.sandbox.size() - random_digits); }

// No label ends in a hyphen (RFC 1123 section 2.1).
std::string label_of(const port_link& link)
{
    const auto node = handle_maker::node_of(link.sandbox);
    const auto label = std::to_string(link.port) + "-" + digits_of(link);
    return is_node(node) ? label + "-" + std::string(node) : label;
}

std::optional<std::uint16_t> read_port(std::string_view text)
{
    std::uint16_t port = 0;
    if (text.empty() || text.front() == '0') return std::nullopt;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return port;
}

}  // namespace

bool is_beneath(std::string_view host, std::string_view domain)
{
    const auto name = name_in(host), base = name_in(domain);
    if (base.empty() || name.size() < base.size() + 1) return false;
    return name[name.size() - base.size() - 1] == '.' &&
           equal_ignoring_case(name.substr(name.size() - base.size()), base);
}

std::optional<preview_label> read_label(std::string_view host, std::string_view domain)
{
    if (!is_beneath(host, domain)) return std::nullopt;
    const auto name = name_in(host);
    const std::string label = lower_case(name.substr(0, name.size() - name_in(domain).size() - 1));
    const auto dash = label.find('-');
    if (dash == std::string::npos || label.size() < dash + 1 + random_digits) return std::nullopt;
    const auto port = read_port(std::string_view(label).substr(0, dash));
    const auto rest = label.substr(dash + 1 + random_digits);
    if (!port || (!rest.empty() && (rest.front() != '-' || !is_node(rest.substr(1))))) return std::nullopt;
    preview_label read{*port, label.substr(dash + 1, random_digits), rest.empty() ? rest : rest.substr(1)};
    if (!std::all_of(read.digits.begin(), read.digits.end(), is_hex)) return std::nullopt;
    return read;
}

bool is_label_of(const preview_label& label, const port_link& link)
{
    if (label.port != link.port || label.digits != digits_of(link)) return false;
    return label.node.empty() || label.node == handle_maker::node_of(link.sandbox);
}

std::string url_of(const port_link& link, std::string_view server, std::string_view domain)
{
    if (domain.empty()) return std::string(server) + std::string(preview_folder) + link.token + "/";
    const auto scheme = server.substr(0, server.find("://"));
    auto authority = server.substr(std::min(server.size(), scheme.size() + 3));
    authority = authority.substr(0, authority.find('/'));
    const auto colon = authority.rfind(':');
    const bool names_port = colon != std::string_view::npos && all_digits(authority.substr(colon + 1));
    const bool own_port = domain.find(':') != std::string_view::npos;
    const auto port = names_port && !own_port ? authority.substr(colon) : std::string_view();
    return std::string(scheme) + "://" + label_of(link) + "." + std::string(domain) + std::string(port) + "/?" +
           std::string(preview_parameter) + "=" + link.token;
}

token_in_url token_in(std::string_view url, std::string_view server, std::string_view domain)
{
    const std::string start = std::string(server) + std::string(preview_folder);
    if (url.starts_with(start)) {
        const auto rest = url.substr(start.size());
        const auto end = std::min(rest.find('/'), rest.size());
        return {std::string(rest.substr(0, end)), end == rest.size() ? "/" : std::string(rest.substr(end))};
    }
    const auto mark = url.find("://");
    if (mark == std::string_view::npos) return {};
    const auto after = url.substr(mark + 3);
    const auto path = std::min(after.find('/'), after.size());
    if (!is_beneath(after.substr(0, path), domain)) return {};
    const auto hash = std::min(after.find('#'), after.size());
    const auto question = std::min(after.find('?'), hash);
    const auto query = question == hash ? std::string_view() : after.substr(question + 1, hash - question - 1);
    token_in_url token;
    for (const auto part : split(query, '&'))
        if (part.substr(0, part.find('=')) == preview_parameter && part.size() > preview_parameter.size())
            token.text = part.substr(preview_parameter.size() + 1);
    const std::string kept = without_preview_parameter(query);
    token.rest = std::string(path < question ? after.substr(path, question - path) : "/") + (kept.empty() ? "" : "?") +
                 kept + std::string(after.substr(hash));
    return token;
}

std::string without_preview_parameter(std::string_view query)
{
    std::string kept;
    for (const auto part : split(query, '&')) {
        if (part.substr(0, part.find('=')) == preview_parameter || part.empty()) continue;
        kept.append(kept.empty() ? "" : "&").append(part);
    }
    return kept;
}

}  // namespace cmcp
