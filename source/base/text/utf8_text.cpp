#include "text/utf8_text.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace cmcp {

namespace {

constexpr std::string_view replacement_text = "\xEF\xBF\xBD";

struct lead_byte {
    std::size_t length;  // 0: no character begins with this byte
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

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

template <class Replacement>
std::string without_invalid(std::string_view text, Replacement replacement)
{
    std::string valid;
    valid.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = valid_utf8_length(text);
        valid.append(text.substr(0, length));
        text.remove_prefix(length);
        if (text.empty()) break;
        valid += replacement(static_cast<unsigned char>(text[0]));
        text.remove_prefix(1);
    }
    return valid;
}

}  // namespace

utf8_start first_character(std::string_view text)
{
    const lead_byte lead = classify_lead(static_cast<unsigned char>(text[0]));
    if (lead.length == 0) return {0, 1};
    std::size_t fits = 1;
    while (fits < lead.length && fits < text.size()) {
        const auto c = static_cast<unsigned char>(text[fits]);
        if (fits == 1 ? c < lead.second_low || c > lead.second_high : c < 0x80 || c > 0xbf) break;
        ++fits;
    }
    return {fits, lead.length};
}

char32_t decode_character(std::string_view text)
{
    const auto lead = static_cast<unsigned char>(text[0]);
    const std::size_t length = classify_lead(lead).length;
    char32_t value = length == 1 ? lead : lead & (0xffu >> (length + 1));
    for (std::size_t at = 1; at != length; ++at) value = value << 6 | (static_cast<unsigned char>(text[at]) & 0x3fu);
    return value;
}

std::size_t valid_utf8_length(std::string_view text)
{
    std::size_t at = 0;
    while (at < text.size()) {
        // Most text is ASCII: eight bytes at once.
        std::uint64_t block = 0;
        if (at + sizeof block <= text.size()) {
            std::memcpy(&block, text.data() + at, sizeof block);
            if ((block & 0x8080808080808080u) == 0) {
                at += sizeof block;
                continue;
            }
        }
        const auto [fits, needs] = first_character(text.substr(at));
        if (fits != needs) break;
        at += needs;
    }
    return at;
}

bool is_utf8(std::string_view text) { return valid_utf8_length(text) == text.size(); }

bool is_cut_utf8(std::string_view text)
{
    if (text.empty() || text.size() > 3) return false;
    const auto [fits, needs] = first_character(text);
    return fits == text.size() && fits < needs;
}

std::string replace_invalid_utf8(std::string_view text)
{
    return without_invalid(text, [](unsigned char) { return replacement_text; });
}

std::string escape_invalid_utf8(std::string_view text)
{
    return without_invalid(text, [](unsigned char byte) {
        constexpr char digits[] = "0123456789ABCDEF";
        return std::string{'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    });
}

std::string_view utf8_prefix(std::string_view text, std::size_t most)
{
    if (text.size() <= most) return text;
    while (most > 0 && is_continuation(text[most])) --most;
    return text.substr(0, most);
}

std::string_view utf8_suffix(std::string_view text, std::size_t most)
{
    if (text.size() <= most) return text;
    std::size_t from = text.size() - most;
    while (from < text.size() && is_continuation(text[from])) ++from;
    return text.substr(from);
}

std::string utf8_cleaner::add(std::string_view bytes)
{
    std::string with_carried;
    if (!carried_.empty()) {
        with_carried = std::exchange(carried_, {});
        with_carried.append(bytes);
        bytes = with_carried;
    }
    std::string text;
    text.reserve(bytes.size());
    for (;;) {
        const std::size_t valid = valid_utf8_length(bytes);
        text.append(bytes.substr(0, valid));
        bytes.remove_prefix(valid);
        if (bytes.empty()) return text;
        if (is_cut_utf8(bytes)) {
            carried_ = bytes;
            return text;
        }
        text.append(replacement_text);
        // Unicode, "maximal subparts": the bytes that fit one character are replaced as a whole.
        bytes.remove_prefix(std::max<std::size_t>(first_character(bytes).fits, 1));
    }
}

std::string utf8_cleaner::finish()
{
    if (carried_.empty()) return {};
    carried_.clear();
    return std::string(replacement_text);
}

}  // namespace cmcp
