#include "egress/text_escapes.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cmcp {
namespace {

using named_character = std::pair<std::string_view, char>;

// The names of HTML for ASCII ("Named character references" of the standard), sorted.
constexpr std::array html_names{
    named_character{"DiacriticalGrave", '`'},
    named_character{"Hat", '^'},
    named_character{"NewLine", '\n'},
    named_character{"Tab", '\t'},
    named_character{"UnderBar", '_'},
    named_character{"VerticalLine", '|'},
    named_character{"amp", '&'},
    named_character{"apos", '\''},
    named_character{"ast", '*'},
    named_character{"bsol", '\\'},
    named_character{"colon", ':'},
    named_character{"comma", ','},
    named_character{"commat", '@'},
    named_character{"dollar", '$'},
    named_character{"equals", '='},
    named_character{"excl", '!'},
    named_character{"grave", '`'},
    named_character{"gt", '>'},
    named_character{"lbrace", '{'},
    named_character{"lbrack", '['},
    named_character{"lcub", '{'},
    named_character{"lowbar", '_'},
    named_character{"lpar", '('},
    named_character{"lsqb", '['},
    named_character{"lt", '<'},
    named_character{"midast", '*'},
    named_character{"num", '#'},
    named_character{"percnt", '%'},
    named_character{"period", '.'},
    named_character{"plus", '+'},
    named_character{"quest", '?'},
    named_character{"quot", '"'},
    named_character{"rbrace", '}'},
    named_character{"rbrack", ']'},
    named_character{"rcub", '}'},
    named_character{"rpar", ')'},
    named_character{"rsqb", ']'},
    named_character{"semi", ';'},
    named_character{"sol", '/'},
    named_character{"verbar", '|'},
    named_character{"vert", '|'},
};
constexpr std::size_t longest_html_name = 16;
constexpr std::size_t longest_number = 8;  // of a number in HTML, zeros in front among them

constexpr auto hexadecimal_values = [] {
    std::array<signed char, 256> values{};
    values.fill(-1);
    for (std::size_t digit = 0; digit < 16; ++digit)
        for (const std::string_view digits : {"0123456789abcdef", "0123456789ABCDEF"})
            values[static_cast<unsigned char>(digits[digit])] = static_cast<signed char>(digit);
    return values;
}();

constexpr int hexadecimal_value(char c) { return hexadecimal_values[static_cast<unsigned char>(c)]; }

constexpr bool is_alphanumeric(char c)
{
    const char lower = static_cast<char>(c | 0x20);
    return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z');
}

// Exactly `count` digits behind the first bytes.
text_escape with_digits(std::string_view text, std::size_t before, std::size_t count, int base = 16)
{
    if (text.size() < before + count) return {};
    unsigned value = 0;
    for (std::size_t at = before; at < before + count; ++at) {
        const int digit = hexadecimal_value(text[at]);
        if (digit < 0 || digit >= base) return {};
        value = value * static_cast<unsigned>(base) + static_cast<unsigned>(digit);
    }
    if (value > 0xff) return {};
    return {before + count, static_cast<char>(value)};
}

text_escape in_url(std::string_view text)
{
    const bool is_long = text.size() > 1 && (text[1] == 'u' || text[1] == 'U');  // of JavaScript's escape()
    return is_long ? with_digits(text, 2, 4) : with_digits(text, 1, 2);
}

text_escape behind_backslash(std::string_view text)
{
    if (text.size() < 2) return {};
    switch (text[1]) {
        case 'u':
            return with_digits(text, 2, 4);
        case 'U': {
            const auto with_all = with_digits(text, 2, 8);
            return with_all.size > 0 ? with_all : with_digits(text, 2, 4);
        }
        case 'x':
            return with_digits(text, 2, 2);
        case 'n':
            return {2, '\n'};
        case 'r':
            return {2, '\r'};
        case 't':
            return {2, '\t'};
        case 'b':
            return {2, '\b'};
        case 'f':
            return {2, '\f'};
        default:
            break;
    }
    if (text[1] >= '0' && text[1] <= '3') return with_digits(text, 1, 3, 8);
    if (text[1] <= ' ' || text[1] > '~' || is_alphanumeric(text[1])) return {};
    return {2, text[1]};
}

// The ';' may be missing. Digits behind the number of a character of ASCII are text then, though browsers read them as
// a part of the number.
text_escape as_number(std::string_view text)
{
    const bool is_hexadecimal = text.size() > 2 && (text[2] == 'x' || text[2] == 'X');
    const std::size_t before = is_hexadecimal ? 3 : 2;
    const int base = is_hexadecimal ? 16 : 10;
    unsigned value = 0;
    text_escape in_ascii;
    std::size_t at = before;
    for (; at < text.size() && at - before < longest_number; ++at) {
        const int digit = hexadecimal_value(text[at]);
        if (digit < 0 || digit >= base) break;
        value = value * static_cast<unsigned>(base) + static_cast<unsigned>(digit);
        if (value <= 0x7f) in_ascii = {at + 1, static_cast<char>(value)};
    }
    if (at == before || at == text.size() || text[at] != ';') return in_ascii;
    return value > 0xff ? text_escape() : text_escape{at + 1, static_cast<char>(value)};
}

text_escape as_name(std::string_view text)
{
    const auto rest = text.substr(1, longest_html_name + 1);
    const auto name = rest.substr(0, rest.find(';'));
    const auto named = std::ranges::lower_bound(html_names, name, {}, &named_character::first);
    if (name.size() < rest.size() && named != html_names.end() && named->first == name)
        return {name.size() + 2, named->second};
    for (const auto& [old, c] : {named_character{"amp", '&'}, named_character{"lt", '<'}, named_character{"gt", '>'},
                                 named_character{"quot", '"'}})
        if (rest.starts_with(old)) return {old.size() + 1, c};
    return {};
}

}  // namespace

text_escape escape_at_beginning_of(std::string_view text)
{
    if (text.size() < 3 && !(text.size() == 2 && text[0] == '\\')) return {};
    switch (text[0]) {
        case '%':
            return in_url(text);
        case '\\':
            return behind_backslash(text);
        case '&':
            return text[1] == '#' ? as_number(text) : as_name(text);
        default:
            return {};
    }
}

}  // namespace cmcp
