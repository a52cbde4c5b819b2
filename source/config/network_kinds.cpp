#include "config/cluster_member.hpp"
#include "config/directory_address.hpp"
#include "config/networks.hpp"
#include "config/setting_kinds.hpp"
#include "config/setting_text.hpp"
#include "config/store_address.hpp"

#include <algorithm>
#include <cctype>
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

}  // namespace

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
    const bool web = address.starts_with("https://") || address.starts_with("http://");
    if (!web || has_control(address) || address.find(' ') != std::string::npos) throw bad_value("an http or https URL");
    return address;
}

std::string url::print(const std::string& value) const
{
    const auto host = value.find("//") + 2;
    const auto at = value.substr(0, value.find('/', host)).rfind('@');
    return at == std::string::npos ? value : value.substr(0, host) + "***" + value.substr(at);
}

// Plain HTTP would let anybody on the way answer for the issuer.
settings::words issuer_list(std::string_view text)
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

settings::words network_list(std::string_view text)
{
    auto words = word_list(text);
    if (!std::all_of(words.begin(), words.end(), is_network))
        throw bad_value("IP addresses and networks as 10.0.0.0/8, separated by commas, or unix");
    return words;
}

settings::words member_list(std::string_view text)
{
    auto words = word_list(text);
    try {
        read_members(words);
    } catch (const std::invalid_argument& wrong) {
        throw bad_value(wrong.what());
    }
    return words;
}

std::string member_address(std::string_view text)
{
    std::string address = bare(text);
    if (!address.empty() && !read_host_and_port(address)) throw bad_value("host:port, for example 10.0.0.5:8443");
    return address;
}

std::string directory_url(std::string_view text)
{
    std::string address = bare(text);
    if (!address.empty() && !directory_address::read(address))
        throw bad_value(
            "redis://host:port, with name:password@ before the host where it asks for them, or rediss:// for TLS");
    return address;
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
