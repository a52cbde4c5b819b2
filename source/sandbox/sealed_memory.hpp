#pragma once

#include "posix/unique_fd.hpp"

#include <string_view>

namespace cmcp::sandbox {

/// A sealed memory file with `content`, positioned at its start. Throws std::system_error.
unique_fd sealed_memory(const char* name, std::string_view content);

}  // namespace cmcp::sandbox
