#include "text/sanitize.hpp"

#include <cstring>

namespace cmcp::jsonrpc {

namespace {

bool in_range(unsigned char byte, unsigned char low, unsigned char high) { return byte >= low && byte <= high; }

// Length of the well-formed sequence at the start of `rest` (Unicode 15, table 3-7), 0 when there is none.
std::size_t length_at(const unsigned char* rest, std::size_t left)
{
    const unsigned char lead = rest[0];
    if (lead < 0x80) return 1;
    std::size_t length = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    if (in_range(lead, 0xC2, 0xDF))
        length = 2;
    else if (in_range(lead, 0xE0, 0xEF))
        length = 3;
    else if (in_range(lead, 0xF0, 0xF4))
        length = 4;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    if (length == 0 || length > left || !in_range(rest[1], low, high)) return 0;
    for (std::size_t i = 2; i < length; ++i)
        if (!in_range(rest[i], 0x80, 0xBF)) return 0;
    return length;
}

// Length of the longest well-formed prefix.
std::size_t valid_prefix(std::string_view text)
{
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    std::size_t at = 0;
    while (at < text.size()) {
        std::uint64_t block = 0;
        if (at + sizeof block <= text.size()) {
            std::memcpy(&block, bytes + at, sizeof block);
            if ((block & 0x8080808080808080u) == 0) {
                at += sizeof block;
                continue;
            }
        }
        const auto length = length_at(bytes + at, text.size() - at);
        if (length == 0) return at;
        at += length;
    }
    return at;
}

}  // namespace

std::size_t sequence_length(std::string_view text)
{
    return length_at(reinterpret_cast<const unsigned char*>(text.data()), text.size());
}

bool is_utf8(std::string_view text) { return valid_prefix(text) == text.size(); }

std::string to_utf8(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto good = valid_prefix(text);
        out.append(text.substr(0, good));
        text.remove_prefix(good);
        if (text.empty()) break;
        out.append("\xEF\xBF\xBD");
        text.remove_prefix(1);
    }
    return out;
}

}  // namespace cmcp::jsonrpc
