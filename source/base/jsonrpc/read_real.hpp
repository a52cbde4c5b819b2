#pragma once

#include "jsonrpc/json.hpp"

#include <string_view>

namespace cmcp {

/// The number under `name`, which need not be whole, as a time in seconds; `otherwise` where there is none.
inline double real_of(const json::object& from, std::string_view name, double otherwise = 0)
{
    const auto* member = from.if_contains(name);
    return member != nullptr && member->is_number() ? member->to_number<double>() : otherwise;
}

}  // namespace cmcp
