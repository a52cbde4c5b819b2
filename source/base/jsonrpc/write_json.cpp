#include "jsonrpc/write_json.hpp"

#include "jsonrpc/json_writer.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <cmath>

namespace cmcp::jsonrpc {

namespace {

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

// Bytes of the characters at the beginning that are not ASCII, one behind the other.
std::size_t valid_beyond_ascii(std::string_view text)
{
    std::size_t length = 0;
    while (length < text.size() && static_cast<unsigned char>(text[length]) >= 0x80) {
        const auto [fits, needs] = first_character(text.substr(length));
        if (fits != needs) break;
        length += needs;
    }
    return length;
}

struct usual {
    static void append_double(std::string& out, double number)
    {
        if (!std::isfinite(number)) return out.append("null"), void();
        const auto begin = out.size();
        append_number(out, number);
        if (out.find_first_not_of("-0123456789", begin) == std::string::npos) out += ".0";
    }

    template <class Take>
    static void for_each_member(const json::object& object, Take take)
    {
        for (const auto& member : object) take(member);
    }
};

using writer = json_writer<usual>;

void write_beginning(std::string& out, const json::object& object, std::size_t most);

void write_beginning(std::string& out, const json::value& value, std::size_t most)
{
    if (const auto* text = value.if_string()) return append_string(out, std::string_view(*text).substr(0, most));
    if (const auto* object = value.if_object()) return write_beginning(out, *object, most);
    const auto* list = value.if_array();
    if (list == nullptr) return writer::append(out, value);
    char before = '[';
    for (const auto& item : *list) {
        out += before;
        before = ',';
        write_beginning(out, item, most);
        if (out.size() >= most) return;
    }
    out += list->empty() ? "[]" : "]";
}

void write_beginning(std::string& out, const json::object& object, std::size_t most)
{
    char before = '{';
    for (const auto& member : object) {
        out += before;
        before = ',';
        append_string(out, std::string_view(member.key()).substr(0, most));
        out += ':';
        write_beginning(out, member.value(), most);
        if (out.size() >= most) return;
    }
    out += object.empty() ? "{}" : "}";
}

}  // namespace

// In a single pass, as replace_invalid_utf8() does.
void append_string(std::string& out, std::string_view text)
{
    out += '"';
    for (;;) {
        const auto size = plain_prefix(text);
        out.append(text.substr(0, size));
        text.remove_prefix(size);
        if (text.empty()) break;
        const auto byte = static_cast<unsigned char>(text.front());
        if (byte < 0x80) {
            append_escaped(out, byte);
            text.remove_prefix(1);
            continue;
        }
        const auto others = valid_beyond_ascii(text);
        out.append(others == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, others));
        text.remove_prefix(std::max<std::size_t>(others, 1));
    }
    out += '"';
}

std::string json_beginning(const json::object& object, std::size_t most)
{
    std::string text;
    write_beginning(text, object, most);
    return text;
}

void append_json(std::string& out, const json::value& value) { writer::append(out, value); }

void append_json(std::string& out, const json::object& object) { writer::append(out, object); }

void append_json(std::string& out, std::string_view text) { append_string(out, text); }

std::string write_json(const json::value& value)
{
    return put_together([&](std::string& out) { writer::append(out, value); });
}

std::string write_json(const json::object& object)
{
    return put_together([&](std::string& out) { writer::append(out, object); });
}

std::string write_json(std::string_view text)
{
    return put_together([&](std::string& out) { append_string(out, text); });
}

}  // namespace cmcp::jsonrpc
