#pragma once

#include "jsonrpc/json.hpp"

#include <cmath>

namespace cmcp::jsonrpc {

/// Whether a value stands for one that is not given. Libraries write null, "", [] (the empty object of PHP) and {} for
/// what nobody has set, so an empty value of another kind than the one that is wanted is none. `wanted`: string, array,
/// object, or any other kind, of which no value is empty.
inline bool is_absent(const json::value& value, json::kind wanted)
{
    if (value.is_null()) return true;
    if (value.kind() == wanted) return false;
    if (const auto* text = value.if_string()) return text->empty();
    if (const auto* list = value.if_array()) return list->empty();
    const auto* object = value.if_object();
    return object != nullptr && object->empty();
}

/// The member of an object, or null where it is absent.
inline const json::value* given(const json::object& from, std::string_view name, json::kind wanted)
{
    const auto* member = from.if_contains(name);
    return member != nullptr && !is_absent(*member, wanted) ? member : nullptr;
}

/// The object without members that are null.
inline json::object without_nulls(json::object from)
{
    for (auto each = from.begin(); each != from.end();)
        if (each->value().is_null())
            each = from.stable_erase(each);
        else
            ++each;
    return from;
}

/// JSON knows one kind of number: 7.0 and 7e0 become the integer 7, as far as doubles are exact.
inline void make_whole(json::value& number)
{
    constexpr double most_exact = 9007199254740992;
    const auto* value = number.if_double();
    if (value != nullptr && std::trunc(*value) == *value && std::abs(*value) <= most_exact)
        number = static_cast<std::int64_t>(*value);
}

}  // namespace cmcp::jsonrpc
