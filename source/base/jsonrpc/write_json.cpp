#include "jsonrpc/write_json.hpp"

#include "jsonrpc/plain_text.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace cmcp::jsonrpc {

namespace {

void write(std::string& out, const json::value& value);

template <class Number>
void write_number(std::string& out, Number number)
{
    std::array<char, 32> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    out.append(text.data(), end);
}

void write_escaped(std::string& out, unsigned char byte)
{
    constexpr std::string_view hex = "0123456789abcdef";
    switch (byte) {
        case '"':
            out += "\\\"";
            return;
        case '\\':
            out += "\\\\";
            return;
        case '\n':
            out += "\\n";
            return;
        case '\t':
            out += "\\t";
            return;
        case '\r':
            out += "\\r";
            return;
        default:
            out += {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
    }
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

// In a single pass, with U+FFFD for each byte that is not UTF-8, as replace_invalid_utf8() does.
void write_text(std::string& out, std::string_view text)
{
    out += '"';
    for (;;) {
        const auto size = plain_prefix(text);
        out.append(text.substr(0, size));
        text.remove_prefix(size);
        if (text.empty()) break;
        const auto byte = static_cast<unsigned char>(text.front());
        if (byte < 0x80) {
            write_escaped(out, byte);
            text.remove_prefix(1);
            continue;
        }
        const auto others = valid_beyond_ascii(text);
        out.append(others == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, others));
        text.remove_prefix(std::max<std::size_t>(others, 1));
    }
    out += '"';
}

void write_array(std::string& out, const json::array& array)
{
    char before = '[';
    for (const auto& item : array) {
        out += before;
        write(out, item);
        before = ',';
    }
    if (array.empty()) out += '[';
    out += ']';
}

void write_object(std::string& out, const json::object& object)
{
    char before = '{';
    for (const auto& member : object) {
        out += before;
        write_text(out, {member.key().data(), member.key().size()});
        out += ':';
        write(out, member.value());
        before = ',';
    }
    if (object.empty()) out += '{';
    out += '}';
}

void write_double(std::string& out, double number)
{
    if (!std::isfinite(number)) {
        out += "null";
        return;
    }
    const auto begin = out.size();
    write_number(out, number);
    if (out.find_first_not_of("-0123456789", begin) == std::string::npos) out += ".0";
}

void write(std::string& out, const json::value& value)
{
    switch (value.kind()) {
        case json::kind::null:
            out += "null";
            return;
        case json::kind::bool_:
            out += value.get_bool() ? "true" : "false";
            return;
        case json::kind::int64:
            return write_number(out, value.get_int64());
        case json::kind::uint64:
            return write_number(out, value.get_uint64());
        case json::kind::double_:
            return write_double(out, value.get_double());
        case json::kind::string:
            return write_text(out, {value.get_string().data(), value.get_string().size()});
        case json::kind::array:
            return write_array(out, value.get_array());
        case json::kind::object:
            return write_object(out, value.get_object());
    }
}

void write_beginning(std::string& out, const json::object& object, std::size_t most);

void write_beginning(std::string& out, const json::value& value, std::size_t most)
{
    if (const auto* text = value.if_string()) return write_text(out, std::string_view(*text).substr(0, most));
    if (const auto* object = value.if_object()) return write_beginning(out, *object, most);
    const auto* list = value.if_array();
    if (list == nullptr) return write(out, value);
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
        write_text(out, std::string_view(member.key()).substr(0, most));
        out += ':';
        write_beginning(out, member.value(), most);
        if (out.size() >= most) return;
    }
    out += object.empty() ? "{}" : "}";
}

}  // namespace

std::string json_beginning(const json::object& object, std::size_t most)
{
    std::string text;
    write_beginning(text, object, most);
    return text;
}

void append_json(std::string& out, const json::value& value) { write(out, value); }

void append_json(std::string& out, const json::object& object) { write_object(out, object); }

void append_json(std::string& out, std::string_view text) { write_text(out, text); }

std::string write_json(const json::value& value)
{
    return put_together([&](std::string& out) { write(out, value); });
}

std::string write_json(const json::object& object)
{
    return put_together([&](std::string& out) { write_object(out, object); });
}

std::string write_json(std::string_view text)
{
    return put_together([&](std::string& out) { write_text(out, text); });
}

}  // namespace cmcp::jsonrpc
