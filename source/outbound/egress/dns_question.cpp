#include "egress/dns_question.hpp"

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

dns_question dns_question::read(std::string_view query)
{
    dns_question question;
    if (query.size() < dns_header) return question;
    question.id = dns_word(query, 0);
    question.flags = dns_word(query, 2);
    if ((question.flags & 0x8000) != 0) return question;
    question.is = state::not_supported;
    if ((question.flags & 0x7800) != 0) return question;
    question.is = state::malformed;
    if (dns_word(query, 4) != 1 || dns_word(query, 6) != 0 || dns_word(query, 8) != 0) return question;
    const auto rest = query.substr(dns_header);
    const auto size = read_name(rest, question.name);
    if (!size || rest.size() < *size + 4) return question;
    question.type = dns_word(rest, *size);
    question.network_class = dns_word(rest, *size + 2);
    question.bytes = rest.substr(0, *size + 4);
    question.is = state::read;
    return question;
}

}  // namespace cmcp
