#pragma once

#include "jsonrpc/json.hpp"
#include "jsonrpc/plain_text.hpp"

#include <array>
#include <charconv>
#include <string>
#include <string_view>

// What write_json.cpp and canonical_json.cpp have in common; nobody else includes it.
namespace cmcp::jsonrpc {

template <class Number>
void append_number(std::string& out, Number number)
{
    std::array<char, 32> text;
    out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr);
}

/// As a JSON string, quoted; with U+FFFD for each byte that is not UTF-8.
void append_string(std::string& out, std::string_view text);

/// Writes values. `Style` says how doubles are written, and in which order members: append_double(out, double), and
/// for_each_member(object, take).
template <class Style>
struct json_writer {
    static void append(std::string& out, const json::object& object)
    {
        char before = '{';
        Style::for_each_member(object, [&](const json::key_value_pair& member) {
            out += before;
            append_string(out, {member.key().data(), member.key().size()});
            out += ':';
            append(out, member.value());
            before = ',';
        });
        out.append(object.empty() ? "{}" : "}");
    }

    static void append(std::string& out, const json::array& list)
    {
        char before = '[';
        for (const auto& item : list) {
            out += before;
            append(out, item);
            before = ',';
        }
        out.append(list.empty() ? "[]" : "]");
    }

    static void append(std::string& out, const json::value& value)
    {
        switch (value.kind()) {
            case json::kind::null:
                out += "null";
                return;
            case json::kind::bool_:
                out += value.get_bool() ? "true" : "false";
                return;
            case json::kind::int64:
                return append_number(out, value.get_int64());
            case json::kind::uint64:
                return append_number(out, value.get_uint64());
            case json::kind::double_:
                return Style::append_double(out, value.get_double());
            case json::kind::string:
                return append_string(out, {value.get_string().data(), value.get_string().size()});
            case json::kind::array:
                return append(out, value.get_array());
            case json::kind::object:
                return append(out, value.get_object());
        }
    }
};

}  // namespace cmcp::jsonrpc
