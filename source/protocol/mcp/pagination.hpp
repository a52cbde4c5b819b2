#pragma once

#include "jsonrpc/json.hpp"

#include <cstddef>
#include <functional>
#include <string_view>

namespace cmcp {

inline constexpr std::size_t page_size = 200;

/// The page of `items` that `params.cursor` asks for, as {<list>: [...], nextCursor?}. Cursors are opaque and belong to
/// one list. Throws rpc_error invalid_params for a cursor that this server did not make.
json::object page_of(json::array items, std::string_view list, const json::object& params);

/// The same of so many items, each of which `item` describes: those of other pages are not.
json::object page_of(std::size_t count, const std::function<json::value(std::size_t)>& item, std::string_view list,
                     const json::object& params);

}  // namespace cmcp
