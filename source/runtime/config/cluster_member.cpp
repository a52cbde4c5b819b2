#include "config/cluster_member.hpp"

#include "text/handles.hpp"
#include "text/number.hpp"

#include <algorithm>

namespace cmcp {

namespace {

constexpr std::size_t longest_name = 24;  // of a shown port's origin a label of DNS holds it, too
constexpr std::size_t longest_host = 253;

bool is_host(std::string_view text)
{
    constexpr std::string_view others = ".-_:";
    const auto fits = [others](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               others.find(c) != std::string_view::npos;
    };
    return !text.empty() && text.size() <= longest_host && std::all_of(text.begin(), text.end(), fits);
}

}  // namespace

bool is_member_name(std::string_view text)
{
    return !text.empty() && text.size() <= longest_name && handle_maker::cleaned(text) == text;
}

std::optional<std::pair<std::string, std::uint16_t>> read_host_and_port(std::string_view text)
{
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    auto host = text.substr(0, colon);
    const auto port = read_number(text.substr(colon + 1));
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) host = host.substr(1, host.size() - 2);
    const bool ambiguous = !bracketed && host.find(':') != std::string_view::npos;
    if (!port || *port == 0 || *port > 65'535 || ambiguous || !is_host(host)) return std::nullopt;
    return std::pair(std::string(host), static_cast<std::uint16_t>(*port));
}

}  // namespace cmcp
