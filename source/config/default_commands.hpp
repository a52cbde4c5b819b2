#pragma once

#include <string>
#include <vector>

namespace cmcp {

/// BASH_ALLOWED_COMMANDS when it is not set: the usual tools for text and files.
std::vector<std::string> default_commands();

}  // namespace cmcp
