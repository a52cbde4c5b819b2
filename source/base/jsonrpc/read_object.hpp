#pragma once

#include "jsonrpc/json.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cmcp::jsonrpc {

/// A JSON value of limited depth; nothing where the text is none. Numbers with a point are the nearest that a double
/// has, which json::parse misses by a bit for many of them.
std::optional<json::value> read_value(std::string_view text, std::size_t depth = 256, json::storage_ptr in = {});

/// The same of an object; empty where the text is none.
json::object read_object(std::string_view text, std::size_t depth = 256, json::storage_ptr in = {});

/// Whether the text is an object of limited depth: nothing is made of it.
bool is_object_text(std::string_view text, std::size_t depth = 256);

}  // namespace cmcp::jsonrpc

namespace cmcp {

/// The text under `name`, as long as the object holds it; empty where there is none.
inline std::string_view view_of(const json::object& from, std::string_view name)
{
    const json::value* member = from.if_contains(name);
    return member != nullptr && member->is_string() ? std::string_view(member->get_string()) : std::string_view();
}

inline std::string text_of(const json::object& from, std::string_view name) { return std::string(view_of(from, name)); }

/// The whole number under `name`, also one that is written as 2.0; `otherwise` where there is none.
inline std::int64_t number_of(const json::object& from, std::string_view name, std::int64_t otherwise = 0)
{
    constexpr double most = 9007199254740992.0;
    const json::value* member = from.if_contains(name);
    if (member == nullptr) return otherwise;
    const auto* number = member->if_double();
    if (number != nullptr && std::abs(*number) <= most && std::trunc(*number) == *number)
        return static_cast<std::int64_t>(*number);
    return member->is_int64() ? member->get_int64() : otherwise;
}

/// The same of a number that counts; 0 where there is none, or it is negative.
inline std::uint64_t count_of(const json::object& from, std::string_view name)
{
    const json::value* member = from.if_contains(name);
    if (member != nullptr && member->is_uint64()) return member->get_uint64();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, number_of(from, name)));
}

/// Whether the member `name` is true.
inline bool flag_of(const json::object& from, std::string_view name)
{
    const json::value* member = from.if_contains(name);
    return member != nullptr && member->is_bool() && member->get_bool();
}

/// The object under `name`; empty where there is none.
inline const json::object& object_of(const json::object& from, std::string_view name)
{
    static const json::object none;
    const json::value* member = from.if_contains(name);
    return member != nullptr && member->is_object() ? member->get_object() : none;
}

}  // namespace cmcp
