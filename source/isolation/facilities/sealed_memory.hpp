#pragma once

#include "posix/unique_fd.hpp"

#include <string>
#include <string_view>

namespace cmcp::sandbox {

/// A sealed memory file with `content`, positioned at its start. Throws std::system_error.
unique_fd sealed_memory(const char* name, std::string_view content);

/// All that a memory file holds, wherever it is positioned. Throws step_failed(`step`).
std::string read_memory(int memory, const char* step);

}  // namespace cmcp::sandbox
