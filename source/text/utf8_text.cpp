#include "text/utf8_text.hpp"

namespace cmcp {

namespace {

struct lead_byte {
    std::size_t length = 0;  ///< 0: no character begins with this byte
    unsigned char second_low = 0x80;
    unsigned char second_high = 0xbf;
};

// Unicode, table 3-7: well-formed UTF-8 byte sequences.
lead_byte classify_lead(unsigned char c)
{
    if (c < 0x80) return {1};
    if (c < 0xc2 || c > 0xf4) return {0};
    if (c < 0xe0) return {2};
    if (c == 0xe0) return {3, 0xa0, 0xbf};
    if (c == 0xed) return {3, 0x80, 0x9f};
    if (c < 0xf0) return {3};
    if (c == 0xf0) return {4, 0x90, 0xbf};
    if (c == 0xf4) return {4, 0x80, 0x8f};
    return {4};
}

/// How many of the first bytes fit one character, and how many it needs.
std::pair<std::size_t, std::size_t> fitting(std::string_view text)
{
    const lead_byte lead = classify_lead(static_cast<unsigned char>(text[0]));
    if (lead.length == 0) return {0, 1};
    std::size_t good = 1;
    while (good < lead.length && good < text.size()) {
        const auto c = static_cast<unsigned char>(text[good]);
        if (good == 1 ? c < lead.second_low || c > lead.second_high : c < 0x80 || c > 0xbf) break;
        ++good;
    }
    return {good, lead.length};
}

}  // namespace

std::size_t valid_utf8_length(std::string_view text)
{
    std::size_t at = 0;
    while (at < text.size()) {
        if (static_cast<unsigned char>(text[at]) < 0x80) {
            ++at;
            continue;
        }
        const auto [good, needed] = fitting(text.substr(at));
        if (good != needed) break;
        at += needed;
    }
    return at;
}

bool is_cut_utf8(std::string_view text)
{
    if (text.empty() || text.size() > 3) return false;
    const auto [good, needed] = fitting(text);
    return good == text.size() && good < needed;
}

std::string escape_invalid_utf8(std::string_view text)
{
    constexpr char digits[] = "0123456789ABCDEF";
    std::string made;
    while (!text.empty()) {
        const std::size_t good = valid_utf8_length(text);
        made += text.substr(0, good);
        text.remove_prefix(good);
        if (text.empty()) break;
        const auto bad = static_cast<unsigned char>(text[0]);
        made += {'\\', 'x', digits[bad >> 4], digits[bad & 15]};
        text.remove_prefix(1);
    }
    return made;
}

}  // namespace cmcp
