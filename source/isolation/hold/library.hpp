#pragma once

#include <string_view>

namespace cmcp::sandbox {

// Shared libraries that are part of this program.
std::string_view held_library_bytes();   ///< of hold.cpp
std::string_view shell_library_bytes();  ///< of shell_commands.cpp

}  // namespace cmcp::sandbox
