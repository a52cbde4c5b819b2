#include "jsonrpc/canonical_json.hpp"

#include "jsonrpc/plain_text.hpp"
#include "text/digest_maker.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace cmcp::jsonrpc {

namespace {

void append_value(std::string& out, const json::value& value);

void append_escaped(std::string& out, unsigned char byte)
{
    constexpr std::string_view digits = "0123456789abcdef";
    constexpr std::string_view named = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt";
    const auto at = named.find(static_cast<char>(byte));
    out += '\\';
    if (at != std::string_view::npos)
        out += letters[at];
    else
        out.append("u00").append({digits[byte >> 4], digits[byte & 15]});
}

void append_text(std::string& out, std::string_view text)
{
    out += '"';
    while (!text.empty()) {
        const auto size = plain_prefix(text);
        out.append(text.substr(0, size));
        text.remove_prefix(size);
        if (text.empty()) break;
        const auto byte = static_cast<unsigned char>(text.front());
        if (byte >= 0x80)
            out += text.front();
        else
            append_escaped(out, byte);
        text.remove_prefix(1);
    }
    out += '"';
}

template <class Number>
void append_whole(std::string& out, Number number)
{
    std::array<char, 24> text;
    out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr);
}

// The shortest digits that read back the same, and the power of ten of the place before the first of them.
struct decimal {
    std::string digits;
    int point = 0;
};

decimal decimal_of(double number)
{
    std::array<char, 40> text;
    const auto* end = std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::scientific).ptr;
    const std::string_view all(text.data(), static_cast<std::size_t>(end - text.data()));
    const auto mark = all.find('e');
    decimal parts;
    for (const char c : all.substr(0, mark))
        if (c != '.') parts.digits += c;
    const auto power = all.substr(mark + (all[mark + 1] == '+' ? 2 : 1));
    std::from_chars(power.data(), power.data() + power.size(), parts.point);
    ++parts.point;
    return parts;
}

// ECMA-262, Number::toString.
void append_double(std::string& out, double number)
{
    constexpr int longest_whole = 21, most_zeros = 6;
    if (number == 0) return out.append("0"), void();
    if (number < 0) out += '-';
    const auto [digits, point] = decimal_of(number < 0 ? -number : number);
    const int count = static_cast<int>(digits.size());
    if (count <= point && point <= longest_whole) {
        out.append(digits).append(static_cast<std::size_t>(point - count), '0');
    } else if (0 < point && point <= longest_whole) {
        out.append(digits, 0, static_cast<std::size_t>(point)).append(".");
        out.append(digits, static_cast<std::size_t>(point));
    } else if (-most_zeros < point && point <= 0) {
        out.append("0.").append(static_cast<std::size_t>(-point), '0').append(digits);
    } else {
        out += digits.front();
        if (count > 1) out.append(".").append(digits, 1);
        out.append(point > 0 ? "e+" : "e-");
        append_whole(out, point > 0 ? point - 1 : 1 - point);
    }
}

void append_list(std::string& out, const json::array& list)
{
    char before = '[';
    for (const auto& item : list) {
        out += before;
        append_value(out, item);
        before = ',';
    }
    out.append(list.empty() ? "[]" : "]");
}

void append_member(std::string& out, const json::key_value_pair& member)
{
    append_text(out, {member.key().data(), member.key().size()});
    out += ':';
    append_value(out, member.value());
}

bool in_order(const json::key_value_pair& one, const json::key_value_pair& other)
{
    return comes_before({one.key().data(), one.key().size()}, {other.key().data(), other.key().size()});
}

void append_sorted(std::string& out, const json::object& object)
{
    std::vector<const json::key_value_pair*> members;
    for (const auto& member : object) members.push_back(&member);
    std::sort(members.begin(), members.end(),
              [](const auto* one, const auto* other) { return in_order(*one, *other); });
    char before = '{';
    for (const auto* member : members) {
        out += before;
        append_member(out, *member);
        before = ',';
    }
}

void append_object(std::string& out, const json::object& object)
{
    char before = '{';
    if (!std::is_sorted(object.begin(), object.end(), in_order)) {
        append_sorted(out, object);
    } else {
        for (const auto& member : object) {
            out += before;
            append_member(out, member);
            before = ',';
        }
    }
    out.append(object.empty() ? "{}" : "}");
}

void append_value(std::string& out, const json::value& value)
{
    switch (value.kind()) {
        case json::kind::null:
            out += "null";
            return;
        case json::kind::bool_:
            out += value.get_bool() ? "true" : "false";
            return;
        case json::kind::int64:
            return append_whole(out, value.get_int64());
        case json::kind::uint64:
            return append_whole(out, value.get_uint64());
        case json::kind::double_:
            return append_double(out, value.get_double());
        case json::kind::string:
            return append_text(out, {value.get_string().data(), value.get_string().size()});
        case json::kind::array:
            return append_list(out, value.get_array());
        case json::kind::object:
            return append_object(out, value.get_object());
    }
}

// Characters above U+FFFF are pairs of surrogates in UTF-16, which stand before U+E000 to U+FFFF.
unsigned rank(char c)
{
    const auto byte = static_cast<unsigned char>(c);
    constexpr unsigned first_of_long = 0xf0, first_behind = 0xee;
    if (byte >= first_of_long) return first_behind;
    return byte >= first_behind ? byte + 1u : byte;
}

}  // namespace

bool comes_before(std::string_view one, std::string_view other)
{
    const auto [here, there] = std::mismatch(
        one.begin(), one.begin() + static_cast<std::ptrdiff_t>(std::min(one.size(), other.size())), other.begin());
    if (here == one.end() || there == other.end()) return one.size() < other.size();
    const auto first = rank(*here), second = rank(*there);
    return first != second ? first < second : static_cast<unsigned char>(*here) < static_cast<unsigned char>(*there);
}

void append_canonical(std::string& out, const json::value& value) { append_value(out, value); }

void append_canonical(std::string& out, const json::object& object) { append_object(out, object); }

std::string canonical_digest(const json::object& object)
{
    std::string text;
    append_object(text, object);
    digest_maker digests;
    return std::string(digests.of({text}));
}

}  // namespace cmcp::jsonrpc
