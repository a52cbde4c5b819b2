#pragma once

#include <string_view>

namespace cmcp::sandbox {

std::string_view held_library_bytes();  ///< the shared library of hold.cpp, which is part of this program

}  // namespace cmcp::sandbox
