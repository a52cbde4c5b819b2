#pragma once

#include "jsonrpc/json.hpp"

#include <cstddef>
#include <string_view>

namespace cmcp::jsonrpc {

/// Bytes that write_json() writes of a value, or a few more.
std::size_t json_size(const json::value& value);
std::size_t json_size(const json::object& object);
std::size_t json_size(std::string_view text);

/// Whether that may be more than so many bytes. Looks at no more than it needs to know, so that asking costs little.
bool is_larger(const json::object& object, std::size_t than);
bool is_larger(const json::array& array, std::size_t than);

}  // namespace cmcp::jsonrpc
