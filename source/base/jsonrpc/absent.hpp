#pragma once

#include "jsonrpc/json.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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

/// Leaves the members that `stays` says true of, in their order. Linear, which erasing one by one is not.
template <class Stays>
void keep_members(json::object& of, Stays stays)
{
    const auto goes = [&stays](const json::key_value_pair& each) { return !stays(each); };
    if (std::none_of(of.begin(), of.end(), goes)) return;
    json::object left(of.storage());
    for (auto& each : of)
        if (stays(each)) left.emplace(each.key(), std::move(each.value()));
    of = std::move(left);
}

/// The object without members that are null.
inline json::object without_nulls(json::object from)
{
    keep_members(from, [](const auto& each) { return !each.value().is_null(); });
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
