#pragma once

#include <string_view>

namespace cmcp {

/// A guess from the name's extension; `fallback` when it is unknown.
std::string_view media_type_of(std::string_view path, std::string_view fallback);

}  // namespace cmcp
