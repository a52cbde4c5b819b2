#pragma once

#include "posix/unique_fd.hpp"

#include <string_view>

namespace cmcp::backup {

/// Opens a path below an open folder, however long it is. No component may be a link. Empty: errno says why.
unique_fd open_inside(int folder, std::string_view path, int flags);

}  // namespace cmcp::backup
