#pragma once

#include "config/assignment.hpp"

#include <string_view>

namespace cmcp {

/// Lines of `KEY=value`, `export KEY=value`, comments (#) and empty lines. Values may stand in single quotes (verbatim)
/// or double quotes (with \" \\ \n \t); elsewhere " #" starts a comment. `name` is for origins and messages.
/// Throws config_error with name and line.
assignments parse_env_file(std::string_view text, std::string_view name);

}  // namespace cmcp
