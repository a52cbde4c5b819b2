#pragma once

#include "jsonrpc/json.hpp"

#include <string>
#include <string_view>

namespace cmcp::jsonrpc {

/// A JSON object, at most 256 levels deep; empty where the text is none.
json::object read_object(std::string_view text);

}  // namespace cmcp::jsonrpc

namespace cmcp {

/// The text under `name`; empty where there is none.
inline std::string text_of(const json::object& from, std::string_view name)
{
    const json::value* member = from.if_contains(name);
    return member != nullptr && member->is_string() ? std::string(member->get_string()) : std::string();
}

/// The object under `name`; empty where there is none.
inline const json::object& object_of(const json::object& from, std::string_view name)
{
    static const json::object none;
    const json::value* member = from.if_contains(name);
    return member != nullptr && member->is_object() ? member->get_object() : none;
}

}  // namespace cmcp
