#include "shells/character_width.hpp"

#include <algorithm>
#include <iterator>

namespace cmcp {
namespace {

struct range {
    char32_t first, last;
};

// UAX #11, the blocks as a whole; unassigned characters of a block are as wide as its others.
constexpr range wide[] = {{0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x2e80, 0x303e},
                          {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},
                          {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
                          {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x17000, 0x18cff}, {0x1b000, 0x1b2ff},
                          {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
constexpr range joining[] = {{0x0300, 0x036f}, {0x0483, 0x0489},  {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},
                             {0x0e34, 0x0e3a}, {0x1ab0, 0x1aff},  {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x202a, 0x202e},
                             {0x20d0, 0x20ff}, {0x302a, 0x302d},  {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
                             {0xfeff, 0xfeff}, {0xe0100, 0xe01ef}};

template <std::size_t N>
bool is_in(const range (&ranges)[N], char32_t character)
{
    return std::any_of(std::begin(ranges), std::end(ranges),
                       [&](const range& each) { return character >= each.first && character <= each.last; });
}

}  // namespace

std::size_t character_width(char32_t character)
{
    if (character < joining[0].first) return 1;
    if (is_in(joining, character)) return 0;
    return is_in(wide, character) ? 2 : 1;
}

}  // namespace cmcp
