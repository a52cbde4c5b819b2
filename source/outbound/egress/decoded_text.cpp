#include "egress/decoded_text.hpp"

#include "egress/text_escapes.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace cmcp {

const digit_code base64_digits{6, 4, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", "-_"};
const digit_code base32_digits{5, 8, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "abcdefghijklmnopqrstuvwxyz234567",
                               "abcdefghijklmnopqrstuvwxyz"};
const digit_code hexadecimal_digits{4, 2, "0123456789abcdef", "0123456789ABCDEF", "ABCDEF"};

namespace {

constexpr char no_line_end = '\x01';  // instead of one that no form goes on behind
constexpr std::uint8_t no_digit = 0xff;

using digit_values = std::array<std::uint8_t, 256>;

digit_values values_of(const digit_code& code)
{
    digit_values values;
    values.fill(no_digit);
    for (std::size_t value = 0; value < code.letters.size(); ++value)
        for (const char c : {code.letters[value], code.other[value]})
            values[static_cast<unsigned char>(c)] = static_cast<std::uint8_t>(value);
    return values;
}

const digit_values& table_of(const digit_code& code)
{
    static const digit_values base64 = values_of(base64_digits), base32 = values_of(base32_digits),
                              hexadecimal = values_of(hexadecimal_digits);
    if (&code == &base64_digits) return base64;
    return &code == &base32_digits ? base32 : hexadecimal;
}

bool is_in(const digit_values& values, char c) { return values[static_cast<unsigned char>(c)] != no_digit; }

// Where the text goes on behind a line end and the blanks behind it; `at`: there is none.
std::size_t behind_line_end(std::string_view text, std::size_t at)
{
    std::size_t next = at;
    if (next < text.size() && text[next] == '\r') ++next;
    if (next < text.size() && text[next] == '\n') ++next;
    if (next == at) return at;
    while (next < text.size() && (text[next] == ' ' || text[next] == '\t')) ++next;
    return next;
}

// Such a part stands as it is in the text that `in` was made of, where it was looked at.
bool is_as_before(const decoded_text& in, std::size_t begin, std::size_t end)
{
    return !in.at.empty() && in.at[end - 1] - in.at[begin] == end - 1 - begin;
}

decoded_text part_of(const decoded_text& in, std::size_t begin, std::size_t end)
{
    decoded_text part;
    part.text = in.text.substr(begin, end - begin);
    part.of = &in;
    part.from = begin;
    return part;
}

void take(decoded_text& row, const decoded_text& in, std::size_t begin, std::size_t end)
{
    row.text.append(in.text, begin, end - begin);
    const auto before = row.at.size();
    row.at.resize(before + (end - begin));
    std::iota(row.at.begin() + static_cast<std::ptrdiff_t>(before), row.at.end(), static_cast<std::uint32_t>(begin));
}

constexpr auto readable_bytes = [] {
    std::array<bool, 256> bytes{};
    for (std::size_t byte = ' '; byte <= '~'; ++byte) bytes[byte] = true;
    for (const char c : {'\0', '\t', '\r', '\n'}) bytes[static_cast<unsigned char>(c)] = true;
    return bytes;
}();

bool is_readable(char c) { return readable_bytes[static_cast<unsigned char>(c)]; }

// Calls report(begin, end) for each run of at least `least` characters that `fits` takes. Looks at every `least`th
// character, as one of them is in each such run.
template <class Fits, class Found>
void for_each_run(std::string_view text, std::size_t least, Fits fits, Found report)
{
    std::size_t before = 0;
    for (auto probe = least - 1; probe < text.size();) {
        if (!fits(text[probe])) {
            probe += least;
            continue;
        }
        auto begin = probe, end = probe + 1;
        while (begin > before && fits(text[begin - 1])) --begin;
        while (end < text.size() && fits(text[end])) ++end;
        if (end - begin >= least) report(begin, end);
        before = end;
        probe = end + least;
    }
}

constexpr bool marks_pair(char c) { return c == ':' || c == ' ' || c == '-' || c == ',' || c == '.' || c == '_'; }

std::size_t next_escape(std::string_view text, std::size_t at)
{
    while (at < text.size() && !begins_escape(text[at])) ++at;
    return at;
}

text_escape escape_at(std::string_view text, std::size_t at)
{
    constexpr std::size_t longest = 18;
    return escape_at_beginning_of(text.substr(at, longest));
}

bool has_escape(std::string_view text)
{
    for (auto at = next_escape(text, 0); at < text.size(); at = next_escape(text, at + 1))
        if (escape_at(text, at).size > 0) return true;
    return false;
}

}  // namespace

bool is_base64_digit(char c) { return is_in(table_of(base64_digits), c); }

decoded_text::span decoded_text::in_answer(std::size_t first, std::size_t last) const
{
    if (of == nullptr) return {first, last};
    if (digits != nullptr) {
        const auto begin = from + first * 8 / digits->bits, end = from + (last * 8 - 1) / digits->bits + 1;
        return of->in_answer(begin, end);
    }
    if (at.empty()) return of->in_answer(from + first, from + last);
    if (whole == 0) return of->in_answer(at[first], at[last - 1] + 1);
    return of->in_answer(at[first], last < at.size() ? at[last] : whole);
}

bool without_escapes(const decoded_text& in, decoded_text& out)
{
    const std::string_view text = in.text;
    if (!has_escape(text)) return false;
    out.of = &in;
    out.whole = text.size();
    out.text.resize(text.size());
    out.at.resize(text.size());
    std::size_t size = 0;
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        const auto escape = begins_escape(c) ? escape_at(text, at) : text_escape();
        const bool is_line_end = in.has_lines_of_answer && (c == '\r' || c == '\n');
        out.text[size] = escape.size > 0 ? escape.means : is_line_end ? no_line_end : c;
        out.at[size++] = static_cast<std::uint32_t>(at);
        at += escape.size > 0 ? escape.size : 1;
    }
    out.text.resize(size);
    out.at.resize(size);
    return true;
}

std::vector<decoded_text> rows_of_wide_characters(const decoded_text& in, std::size_t least)
{
    const std::string_view text = in.text;
    std::vector<decoded_text> rows;
    const auto are_zeros = [&](std::size_t at, std::size_t count) {
        return text.substr(std::min(at, text.size()), count) == std::string_view("\0\0\0", count);
    };
    for (auto at = text.find('\0'); at < text.size();) {
        const auto begin = at > 0 && text[at - 1] != '\0' ? at - 1 : text.find_first_not_of('\0', at);
        if (begin == std::string_view::npos) break;
        const std::size_t width = are_zeros(begin + 1, 3) ? 4 : 2;
        auto end = begin + width;
        while (end < text.size() && text[end] != '\0' && are_zeros(end - width + 1, width - 1)) end += width;
        const auto last = end - width;
        if ((last - begin) / width + 1 >= least) {
            auto& row = rows.emplace_back();
            row.of = &in;
            row.has_lines_of_answer = in.has_lines_of_answer;
            for (auto one = begin; one <= last; one += width) take(row, in, one, one + 1);
        }
        at = text.find('\0', std::max(at, last) + 1);
    }
    return rows;
}

std::vector<decoded_text> rows_of_base64(const decoded_text& in, std::size_t least)
{
    const auto& values = table_of(base64_digits);
    const std::string_view text = in.text;
    const auto fits = [&](char c) { return is_in(values, c); };
    std::vector<decoded_text> rows;
    if (text.find('\n') == std::string_view::npos && text.find('\r') == std::string_view::npos) {
        for_each_run(text, least, fits, [&](std::size_t begin, std::size_t end) {
            if (!is_as_before(in, begin, end)) rows.push_back(part_of(in, begin, end));
        });
        return rows;
    }
    std::vector<decoded_text::span> lines;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (!fits(text[at])) continue;
        const std::size_t begin = at;
        while (at < text.size() && fits(text[at])) ++at;
        std::size_t count = at - begin;
        lines.assign(1, {begin, at});
        for (auto next = behind_line_end(text, at); next > at && next < text.size() && fits(text[next]);
             next = behind_line_end(text, at)) {
            at = next;
            while (at < text.size() && fits(text[at])) ++at;
            lines.push_back({next, at});
            count += at - next;
        }
        if (count < least || is_as_before(in, begin, at)) continue;
        if (lines.size() == 1) {
            rows.push_back(part_of(in, begin, at));
            continue;
        }
        auto& row = rows.emplace_back();
        row.of = &in;
        for (const auto& line : lines) take(row, in, line.begin, line.end);
    }
    return rows;
}

// Of three characters in a row one is a mark and two are digits, so a look at every so many is enough here as well.
std::vector<decoded_text> rows_of_pairs(const decoded_text& in, std::size_t least)
{
    const auto& values = table_of(hexadecimal_digits);
    const std::string_view text = in.text;
    std::vector<decoded_text> rows;
    const auto is_pair = [&](std::size_t at) {
        return at + 1 < text.size() && is_in(values, text[at]) && is_in(values, text[at + 1]);
    };
    const std::size_t shortest = (least + 1) / 2 * 3 - 1;
    for (std::size_t probe = shortest - 3; probe + 2 < text.size();) {
        std::size_t mark = probe;
        while (mark < probe + 3 && !marks_pair(text[mark])) ++mark;
        if (mark == probe + 3 || !is_pair(mark + 1) || mark < 2 || !is_pair(mark - 2)) {
            probe += shortest - 2;
            continue;
        }
        auto begin = mark - 2, end = mark + 3;
        while (begin >= 3 && marks_pair(text[begin - 1]) && is_pair(begin - 3)) begin -= 3;
        while (end < text.size() && marks_pair(text[end]) && is_pair(end + 1)) end += 3;
        probe = end + shortest - 4;  // the last digit may begin another row
        if (end - begin < shortest || is_as_before(in, begin, end)) continue;
        auto& row = rows.emplace_back();
        row.of = &in;
        for (auto pair = begin; pair < end; pair += 3) take(row, in, pair, pair + 2);
    }
    return rows;
}

std::vector<decoded_text> parts_of_row(const decoded_text& row, const digit_code& code, std::size_t least)
{
    const auto& values = table_of(code);
    std::vector<decoded_text> parts;
    for_each_run(
        row.text, least, [&](char c) { return is_in(values, c); },
        [&](std::size_t begin, std::size_t end) { parts.push_back(part_of(row, begin, end)); });
    return parts;
}

std::string values_in_row(const decoded_text& row, const digit_code& code)
{
    const auto& table = table_of(code);
    std::string values(row.text);
    for (char& c : values) c = static_cast<char>(table[static_cast<unsigned char>(c)]);
    return values;
}

// In groups of digits that are whole bytes.
decoded_text bytes_of_digits(const decoded_text& row, std::string_view values, const digit_code& code,
                             std::size_t first_digit)
{
    decoded_text bytes;
    bytes.of = &row;
    bytes.from = first_digit;
    bytes.digits = &code;
    values.remove_prefix(std::min(first_digit, values.size()));
    const auto in_group = code.phases * code.bits / 8;
    bytes.text.resize((values.size() / code.phases + 1) * in_group);
    char* next = bytes.text.data();
    for (std::size_t at = 0; at < values.size(); at += code.phases) {
        std::uint64_t group = 0;
        for (std::size_t i = 0; i < code.phases; ++i)
            group = group << code.bits | (at + i < values.size() ? static_cast<unsigned char>(values[at + i]) : 0);
        for (std::size_t i = in_group; i-- > 0;) *next++ = static_cast<char>(group >> (8 * i));
    }
    bytes.text.resize(values.size() * code.bits / 8);
    return bytes;
}

std::vector<decoded_text> readable_parts(const decoded_text& in, std::size_t least)
{
    std::vector<decoded_text> parts;
    for_each_run(in.text, least, is_readable,
                 [&](std::size_t begin, std::size_t end) { parts.push_back(part_of(in, begin, end)); });
    return parts;
}

}  // namespace cmcp
