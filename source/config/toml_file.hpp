#pragma once

#include "config/assignment.hpp"

#include <string_view>

namespace cmcp {

/// The keys of a TOML text as paths with dots, in the order of the text; arrays of plain values become comma lists.
/// Throws config_error with name and line.
assignments parse_toml_file(std::string_view text, std::string_view name);

}  // namespace cmcp
