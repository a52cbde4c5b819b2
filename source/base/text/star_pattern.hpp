#pragma once

#include <string_view>

namespace cmcp {

/// Whether `name` is what `pattern` describes, in which `*` is any text. Takes time linear in both for each star.
bool fits_star_pattern(std::string_view pattern, std::string_view name);

}  // namespace cmcp
