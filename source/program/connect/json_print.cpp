#include "connect/json_print.hpp"

#include "jsonrpc/write_json.hpp"

namespace cmcp::connect {

namespace {

std::string print_list(const json::array& list, const print_style& style)
{
    std::string text = "[";
    for (const auto& each : list) text += (&each == &list.front() ? "" : ", ") + print_json(each, style);
    return text + "]";
}

}  // namespace

std::string print_json(const json::value& value, const print_style& style)
{
    if (const auto* list = value.if_array()) return print_list(*list, style);
    const auto* object = value.if_object();
    if (object == nullptr) return jsonrpc::write_json(value);
    if (object->empty()) return "{}";
    print_style inner = style;
    inner.indent += style.unit;
    std::string text = "{", between = style.one_line ? " " : style.newline + inner.indent;
    for (const auto& [name, member] : *object) {
        text += between + jsonrpc::write_json(std::string_view(name)) + ": " + print_json(member, inner);
        between = style.one_line ? ", " : "," + style.newline + inner.indent;
    }
    return text + (style.one_line ? " }" : style.newline + style.indent + "}");
}

}  // namespace cmcp::connect
