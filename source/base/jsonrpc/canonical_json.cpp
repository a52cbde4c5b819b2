#include "jsonrpc/canonical_json.hpp"

#include "jsonrpc/json_writer.hpp"
#include "text/digest_maker.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace cmcp::jsonrpc {

namespace {

// The shortest digits that read back the same, and the power of ten before the first of them.
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
void append_ecma(std::string& out, double number)
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
        append_number(out, point > 0 ? point - 1 : 1 - point);
    }
}

bool in_order(const json::key_value_pair& one, const json::key_value_pair& other)
{
    return comes_before({one.key().data(), one.key().size()}, {other.key().data(), other.key().size()});
}

struct canonical {
    static void append_double(std::string& out, double number) { append_ecma(out, number); }

    template <class Take>
    static void for_each_member(const json::object& object, Take take)
    {
        if (std::is_sorted(object.begin(), object.end(), in_order)) {
            for (const auto& member : object) take(member);
            return;
        }
        std::vector<const json::key_value_pair*> members;
        for (const auto& member : object) members.push_back(&member);
        std::ranges::sort(members, [](const auto* one, const auto* other) { return in_order(*one, *other); });
        for (const auto* member : members) take(*member);
    }
};

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

void append_canonical(std::string& out, const json::value& value) { json_writer<canonical>::append(out, value); }

void append_canonical(std::string& out, const json::object& object) { json_writer<canonical>::append(out, object); }

std::string canonical_digest(const json::object& object)
{
    std::string text;
    append_canonical(text, object);
    digest_maker digests;
    return std::string(digests.of({text}));
}

}  // namespace cmcp::jsonrpc
