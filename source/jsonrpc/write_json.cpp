#include "jsonrpc/write_json.hpp"

#include "jsonrpc/sanitize.hpp"

#include <array>
#include <charconv>
#include <cmath>

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

bool needs_escape(unsigned char byte) { return byte < 0x20 || byte == '"' || byte == '\\'; }

void write_escaped(std::string& out, unsigned char byte)
{
    constexpr std::string_view hex = "0123456789abcdef";
    switch (byte) {
        case '"': out += "\\\""; return;
        case '\\': out += "\\\\"; return;
        case '\n': out += "\\n"; return;
        case '\t': out += "\\t"; return;
        case '\r': out += "\\r"; return;
        default: out += {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
    }
}

void write_well_formed(std::string& out, std::string_view text)
{
    out.reserve(out.size() + text.size() + 2);
    out += '"';
    std::size_t done = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (!needs_escape(byte)) continue;
        out.append(text, done, i - done);
        write_escaped(out, byte);
        done = i + 1;
    }
    out.append(text, done);
    out += '"';
}

void write_text(std::string& out, std::string_view text)
{
    if (is_utf8(text)) return write_well_formed(out, text);
    write_well_formed(out, to_utf8(text));
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
    if (std::isfinite(number)) return write_number(out, number);
    out += "null";
}

void write(std::string& out, const json::value& value)
{
    switch (value.kind()) {
        case json::kind::null: out += "null"; return;
        case json::kind::bool_: out += value.get_bool() ? "true" : "false"; return;
        case json::kind::int64: return write_number(out, value.get_int64());
        case json::kind::uint64: return write_number(out, value.get_uint64());
        case json::kind::double_: return write_double(out, value.get_double());
        case json::kind::string: return write_text(out, {value.get_string().data(), value.get_string().size()});
        case json::kind::array: return write_array(out, value.get_array());
        case json::kind::object: return write_object(out, value.get_object());
    }
}

}  // namespace

std::string write_json(const json::value& value)
{
    std::string out;
    write(out, value);
    return out;
}

std::string write_json(const json::object& object)
{
    std::string out;
    write_object(out, object);
    return out;
}

std::string write_json(std::string_view text)
{
    std::string out;
    write_text(out, text);
    return out;
}

}  // namespace cmcp::jsonrpc
