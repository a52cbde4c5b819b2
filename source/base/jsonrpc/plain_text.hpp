#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cmcp::jsonrpc {

constexpr std::uint64_t every_byte(std::uint64_t byte) { return byte * 0x0101010101010101u; }

// The high bit of each byte that is zero. Above the lowest one found, bytes may be marked in error.
constexpr std::uint64_t zero_bytes(std::uint64_t block)
{
    return (block - every_byte(0x01)) & ~block & every_byte(0x80);
}

constexpr bool is_plain_byte(unsigned char byte) { return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\'; }

constexpr bool all_plain(std::uint64_t block)
{
    const auto controls = (block - every_byte(0x20)) & ~block;
    const auto not_plain =
        controls | block | zero_bytes(block ^ every_byte('"')) | zero_bytes(block ^ every_byte('\\'));
    return (not_plain & every_byte(0x80)) == 0;
}

/// How many bytes of a JSON string can be copied as they are: ASCII without controls, quotes and backslashes. Looks at
/// eight at a time, because most text holds nothing to escape.
inline std::size_t plain_prefix(std::string_view text)
{
    std::size_t at = 0;
    for (std::uint64_t block = 0; at + sizeof block <= text.size(); at += sizeof block) {
        std::memcpy(&block, text.data() + at, sizeof block);
        if (!all_plain(block)) break;
    }
    while (at < text.size() && is_plain_byte(static_cast<unsigned char>(text[at]))) ++at;
    return at;
}

/// Whether all of a JSON string can be copied as it is.
inline bool is_plain(std::string_view text)
{
    std::uint64_t block = 0;
    if (text.size() < sizeof block) {
        for (const char c : text)
            if (!is_plain_byte(static_cast<unsigned char>(c))) return false;
        return true;
    }
    for (std::size_t at = 0; at + sizeof block < text.size(); at += sizeof block) {
        std::memcpy(&block, text.data() + at, sizeof block);
        if (!all_plain(block)) return false;
    }
    std::memcpy(&block, text.data() + text.size() - sizeof block, sizeof block);
    return all_plain(block);
}

}  // namespace cmcp::jsonrpc
