#include "text/utf8_cleaner.hpp"

#include <cstddef>

namespace cmcp {
namespace {

constexpr std::string_view replacement_text = "\xEF\xBF\xBD";

struct lead {
    std::size_t length;        // bytes of the whole character; 0: no lead byte
    unsigned char second_low;  // range of the second byte: excludes overlong forms, surrogates, above U+10FFFF
    unsigned char second_high;
};

lead classify(unsigned char byte)
{
    if (byte < 0x80) return {1, 0, 0};
    if (byte < 0xC2) return {0, 0, 0};
    if (byte < 0xE0) return {2, 0x80, 0xBF};
    if (byte == 0xE0) return {3, 0xA0, 0xBF};
    if (byte == 0xED) return {3, 0x80, 0x9F};
    if (byte < 0xF0) return {3, 0x80, 0xBF};
    if (byte == 0xF0) return {4, 0x90, 0xBF};
    if (byte < 0xF4) return {4, 0x80, 0xBF};
    if (byte == 0xF4) return {4, 0x80, 0x8F};
    return {0, 0, 0};
}

bool continues(const lead& first, std::size_t index, unsigned char byte)
{
    if (index == 1) return byte >= first.second_low && byte <= first.second_high;
    return byte >= 0x80 && byte <= 0xBF;
}

struct piece {
    std::size_t length;
    enum { valid, invalid, incomplete } is;
};

// The next character, or the longest part of one that is to be replaced as a whole (Unicode, "maximal subparts").
piece next(std::string_view bytes)
{
    const lead first = classify(static_cast<unsigned char>(bytes[0]));
    if (first.length == 0) return {1, piece::invalid};
    for (std::size_t i = 1; i < first.length; ++i) {
        if (i == bytes.size()) return {i, piece::incomplete};
        if (!continues(first, i, static_cast<unsigned char>(bytes[i]))) return {i, piece::invalid};
    }
    return {first.length, piece::valid};
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

std::string utf8_cleaner::add(std::string_view bytes)
{
    std::string joined;
    if (!carried_.empty()) {
        joined = std::move(carried_);
        carried_.clear();
        joined.append(bytes);
        bytes = joined;
    }
    std::string text;
    text.reserve(bytes.size());
    std::size_t copied = 0, at = 0;
    while (at < bytes.size()) {
        const piece found = next(bytes.substr(at));
        if (found.is == piece::valid) {
            at += found.length;
            continue;
        }
        text.append(bytes.substr(copied, at - copied));
        if (found.is == piece::incomplete) {
            carried_.assign(bytes.substr(at));
            return text;
        }
        text.append(replacement_text);
        at += found.length;
        copied = at;
    }
    text.append(bytes.substr(copied));
    return text;
}

std::string utf8_cleaner::finish()
{
    if (carried_.empty()) return {};
    carried_.clear();
    return std::string(replacement_text);
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

}  // namespace cmcp
