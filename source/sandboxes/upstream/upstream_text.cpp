#include "upstream/upstream_text.hpp"

#include "text/utf8_text.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cmcp {

namespace {

constexpr char escape = '\x1b';
constexpr std::size_t shortest_secret = 4;
constexpr std::size_t shortest_word = 8;  // of a secret with several

// Unicode's categories Cc and Cf, and letters that show nothing.
constexpr std::array<std::pair<char32_t, char32_t>, 22> unseen{{
    {0x00, 0x08},       {0x0b, 0x1f},        {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},
    {0x61c, 0x61c},     {0x115f, 0x1160},    {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},
    {0x2028, 0x202e},   {0x2060, 0x206f},    {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
    {0xffa0, 0xffa0},   {0xfff0, 0xfffb},    {0x110bd, 0x110bd}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff}, {0xf0000, 0x10ffff},
}};

bool is_unseen(char32_t character)
{
    const auto holds = [character](const auto& range) { return range.first <= character && character <= range.second; };
    return std::ranges::any_of(unseen, holds);
}

bool within(char c, char first, char last) { return first <= c && c <= last; }

void hide(std::string& text, std::string_view secret, std::size_t shortest)
{
    constexpr std::string_view hidden = "***";
    if (secret.size() < shortest) return;
    for (auto at = text.find(secret); at != text.npos; at = text.find(secret, at + hidden.size()))
        text.replace(at, secret.size(), hidden);
}

// The length of what a terminal takes for one order (ECMA-48 section 5.4), or of a string of orders up to its end.
std::size_t order_length(std::string_view text)
{
    if (text.size() < 2) return text.size();
    if (std::string_view("]PX^_").find(text[1]) != std::string_view::npos) {
        const auto end = text.find_first_of("\x07\x1b\n", 2);
        return end == std::string_view::npos ? text.size() : end;
    }
    std::size_t at = text[1] == '[' ? 2 : 1;
    while (at < text.size() && within(text[at], ' ', text[1] == '[' ? '?' : '/')) ++at;
    return at < text.size() && within(text[at], '0', '~') ? at + 1 : at;
}

}  // namespace

std::string shown_text(std::string_view text, std::size_t most)
{
    // Text behind what is left out moves up, but a text of invisible characters alone takes no time.
    std::string_view rest = text.substr(0, 4 * most);
    std::string shown;
    while (!rest.empty() && shown.size() < most) {
        if (rest.front() == escape) {
            rest.remove_prefix(order_length(rest));
            continue;
        }
        const auto first = first_character(rest);
        if (first.fits == 0 || first.fits < first.needs) {
            rest.remove_prefix(std::max<std::size_t>(1, first.fits));
            continue;
        }
        if (!is_unseen(decode_character(rest))) shown += rest.substr(0, first.needs);
        rest.remove_prefix(first.needs);
    }
    return std::string(utf8_prefix(shown, most));
}

std::string shown_line(std::string_view text, std::size_t most)
{
    auto line = shown_text(text, most);
    std::ranges::replace_if(
        line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return line;
}

std::string without_secrets(std::string text, const upstream_entry& of)
{
    for (const auto* all : {&of.headers, &of.env}) {
        for (const auto& [name, value] : *all) {
            hide(text, value, shortest_secret);
            for (const auto word : split(value, ' ')) hide(text, word, shortest_word);  // the one behind "Bearer"
        }
    }
    return text;
}

}  // namespace cmcp
