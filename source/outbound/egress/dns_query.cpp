#include "egress/dns_query.hpp"

#include <algorithm>
#include <optional>

namespace cmcp {
namespace {

constexpr std::size_t dns_header = 12;
constexpr std::size_t longest_dns_name = 255;

std::uint16_t dns_word(std::string_view bytes, std::size_t at)
{
    return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[at]) << 8 |
                                      static_cast<unsigned char>(bytes[at + 1]));
}

bool is_host_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

void add_label(std::string& name, std::string_view label)
{
    if (!name.empty()) name += '.';
    for (const char c : label) name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// The size of the name with its closing zero. A compressed name (RFC 1035 section 4.1.4) is none here: nothing stands
// before a question that it could lead to. A label with a dot in it would read as two.
std::optional<std::size_t> read_name(std::string_view bytes, std::string& name)
{
    bool of_host = true;
    for (std::size_t at = 0; at < std::min(bytes.size(), longest_dns_name);) {
        const auto size = static_cast<unsigned char>(bytes[at++]);
        if (size == 0) {
            if (!of_host) name.clear();
            return at;
        }
        if (size > 63 || bytes.size() - at < size) return std::nullopt;
        const auto label = bytes.substr(at, size);
        of_host = of_host && std::all_of(label.begin(), label.end(), is_host_character);
        add_label(name, label);
        at += size;
    }
    return std::nullopt;
}

}  // namespace

dns_query dns_query::read(std::string_view message)
{
    dns_query query;
    if (message.size() < dns_header) return query;
    query.id = dns_word(message, 0);
    query.flags = dns_word(message, 2);
    if ((query.flags & 0x8000) != 0) return query;
    query.is = state::not_supported;
    if ((query.flags & 0x7800) != 0) return query;
    query.is = state::malformed;
    if (dns_word(message, 4) != 1 || dns_word(message, 6) != 0 || dns_word(message, 8) != 0) return query;
    const auto rest = message.substr(dns_header);
    const auto size = read_name(rest, query.name);
    if (!size || rest.size() < *size + 4) return query;
    query.type = dns_word(rest, *size);
    query.network_class = dns_word(rest, *size + 2);
    query.bytes = rest.substr(0, *size + 4);
    query.is = state::read;
    return query;
}

}  // namespace cmcp
