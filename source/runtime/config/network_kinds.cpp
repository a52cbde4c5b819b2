#include "config/cluster_member.hpp"
#include "config/etcd_endpoint.hpp"
#include "config/labels.hpp"
#include "config/networks.hpp"
#include "config/setting_kinds.hpp"
#include "config/setting_text.hpp"
#include "config/store_address.hpp"
#include "text/number.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <stdexcept>

// The kinds of settings that name hosts, addresses and networks.
namespace cmcp::kinds {

namespace {

bool is_network(const std::string& word)
try {
    networks().add(word);
    return true;
} catch (const std::invalid_argument&) {
    return word == "unix";
}

// unix(7): an address has room for 107 bytes.
std::string unix_socket(std::string name)
{
    constexpr std::size_t longest = 107;
    const std::string_view path = std::string_view(name).substr(name.find(':') + 1);
    if (!path.starts_with('/') || path.ends_with('/') || path.size() > longest || has_control(path))
        throw bad_value("unix: and an absolute path of at most 107 bytes, for example unix:/run/user/1000/mcp.sock");
    return name;
}

// "10.0.0.0/8" and "10.0.0.0/8:443": the part behind the slash.
bool is_block_size(std::string_view text) { return all_digits(text.substr(0, text.find(':'))); }

bool is_port(std::string_view text)
{
    const auto port = read_number<unsigned>(text);
    return port && *port >= 1 && *port <= 65535;
}

// The text behind the colon of "host:port" or "[v6]:port"; nothing where there is none.
std::optional<std::string_view> port_in(std::string_view host)
{
    const auto bracket = host.rfind(']');
    const auto colon = host.rfind(':');
    if (colon == std::string_view::npos || (bracket != std::string_view::npos && bracket > colon)) return std::nullopt;
    if (bracket == std::string_view::npos && host.find(':') != colon) return std::nullopt;  // an IPv6 address
    return host.substr(colon + 1);
}

}  // namespace

// People paste addresses where hosts are wanted, and the other way round.
setting_types::words host_list(std::string_view text)
{
    auto words = word_list(text);
    for (const auto& word : words) {
        const auto mark = word.find("://");
        const auto begin = mark == std::string::npos ? 0 : mark + 3;
        const auto end = std::min(word.find_first_of("/?#", begin), word.size());
        const bool is_block = end < word.size() && is_block_size(std::string_view(word).substr(end + 1));
        if (begin == 0 && (end == word.size() || is_block)) {
            const auto port = port_in(word);
            if (port && !is_port(*port))
                throw bad_value("hosts separated by commas, each alone or with :port, a number from 1 to 65535, and " +
                                word + " has no such port");
            continue;
        }
        const std::string denied = begin != 0 && word.starts_with('!') ? "!" : "";
        const std::string host = denied + word.substr(begin, end - begin);
        throw bad_value("hosts separated by commas, without scheme and path: write " + host + " in place of " + word);
    }
    return words;
}

setting_types::words origin_list(std::string_view text)
{
    auto words = word_list(text);
    for (auto& word : words) {
        if (word == "*" || word == "null") continue;
        const auto mark = word.find("://");
        if (mark == std::string::npos)
            throw bad_value("origins separated by commas, with their scheme: write https://" + word + " or http://" +
                            word + " in place of " + word);
        const auto end = std::min(word.find_first_of("/?#", mark + 3), word.size());
        if (word.find_first_not_of('/', end) != std::string::npos)
            throw bad_value("origins separated by commas, without a path: write " + word.substr(0, end) +
                            " in place of " + word);
        word = lower_case(word.substr(0, end));
    }
    return words;
}

std::string host_name(std::string_view text)
{
    std::string name = bare(text);
    if (name.starts_with("unix:")) return unix_socket(std::move(name));
    const bool bad = name.empty() || name.size() > 253 || name.find_first_of(" /\\@?#[]") != std::string::npos;
    if (bad || has_control(name))
        throw bad_value(
            "an IP address or a host name of this machine, for example 127.0.0.1 or 0.0.0.0, or unix:/path");
    return name;
}

std::string preview_domain(std::string_view text)
{
    std::string domain = lower_case(bare(text));
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    constexpr std::size_t longest = 200;  // of the 253 characters of a name, with the label before it
    const auto colon = std::min(domain.find(':'), domain.size());
    const auto name = std::string_view(domain).substr(0, colon);
    const bool good_port = colon == domain.size() || all_digits(std::string_view(domain).substr(colon + 1));
    const bool good = name.find_first_not_of(letters) == std::string_view::npos && name.size() <= longest &&
                      !name.starts_with('.') && !name.ends_with('.') && name.find("..") == std::string_view::npos &&
                      !all_digits(name.substr(name.rfind('.') + 1));
    if (!domain.empty() && (name.empty() || !good || !good_port))
        throw bad_value("a domain, for example preview.example.com or localhost");
    return domain;
}

std::string url::operator()(std::string_view text) const
{
    std::string address = bare(text);
    if (address.empty()) return address;
    const auto mark = address.find("://");
    if (mark == std::string::npos && !has_control(address) && address.find_first_of(" @") == std::string::npos)
        throw bad_value("an http or https URL, with its scheme: write https://" + address);
    const auto scheme = lower_case(address.substr(0, std::min(mark, address.size())));
    const bool web = scheme == "https" || scheme == "http";
    const bool has_host = address.find_first_not_of('/', mark + 3) == mark + 3;
    if (!web || !has_host || has_control(address) || address.find(' ') != std::string::npos)
        throw bad_value("an http or https URL");
    auto authority = std::string_view(address).substr(mark + 3);
    authority = authority.substr(0, authority.find_first_of("/?#"));
    const auto port = port_in(authority.substr(authority.rfind('@') + 1));
    if (port && !port->empty() && !is_port(*port))
        throw bad_value("an http or https URL, whose port is a number from 1 to 65535");
    return scheme + address.substr(mark);
}

std::string url::print(const std::string& value) const
{
    const auto host = value.find("//") + 2;
    const auto at = value.substr(0, value.find('/', host)).rfind('@');
    return at == std::string::npos ? value : value.substr(0, host) + "***" + value.substr(at);
}

// Plain HTTP would let anybody on the way answer for the issuer.
setting_types::words issuer_list(std::string_view text)
{
    auto issuers = word_list(text);
    for (const auto& each : issuers) {
        const bool near = each.starts_with("http://localhost") || each.starts_with("http://127.0.0.1") ||
                          each.starts_with("http://[::1]");
        if ((!each.starts_with("https://") && !near) || each.find_first_of("?# @") != std::string::npos)
            throw bad_value(
                "addresses of authorization servers, exactly as their tokens name them (iss): https://…, on "
                "this machine also http://localhost…");
    }
    return issuers;
}

setting_types::words network_list(std::string_view text)
{
    auto words = word_list(text);
    if (!std::all_of(words.begin(), words.end(), is_network))
        throw bad_value("IP addresses and networks as 10.0.0.0/8, separated by commas, or unix");
    return words;
}

setting_types::words etcd_urls(std::string_view text)
{
    auto words = word_list(text);
    std::size_t secure = 0;
    for (const auto& word : words) {
        const auto endpoint = etcd_endpoint::read(word);
        if (!endpoint)
            throw bad_value("https://host:2379 for each member of etcd, separated by commas, or http:// without TLS");
        if (endpoint->secure) ++secure;
    }
    if (secure != 0 && secure != words.size()) throw bad_value("addresses that all begin with https://, or none");
    return words;
}

std::string member_address(std::string_view text)
{
    std::string address = bare(text);
    if (!address.empty() && !read_host_and_port(address)) throw bad_value("host:port, for example 10.0.0.5:8443");
    return address;
}

setting_types::words label_list(std::string_view text)
{
    auto words = word_list(text);
    if (!read_labels(words))
        throw bad_value(
            "name=value, separated by commas, as gpu=a100,zone=b: each name once, of letters, digits and . _ -");
    return words;
}

std::string store_url(std::string_view text)
{
    std::string address = bare(text);
    if (!address.empty() && !store_address::read(address))
        throw bad_value(
            "https://host/bucket or http://host/bucket, with :port behind the host and /prefix behind the bucket where "
            "there are any; names and prefixes are of letters, digits and . _ -; the key is SNAPSHOT_STORE_KEY_ID and "
            "SNAPSHOT_STORE_SECRET");
    return address;
}

std::string region_name(std::string_view text)
{
    constexpr std::size_t longest = 64;
    std::string name = bare(text);
    const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
    if (name.empty() || name.size() > longest || !std::all_of(name.begin(), name.end(), fits))
        throw bad_value("a region of letters, digits, - and _, for example us-east-1");
    return name;
}

}  // namespace cmcp::kinds
