#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// What a run's error output says of paths that it was refused (strerror(3) of EROFS, EACCES and EPERM, as the C
/// library, shells and Python print it), a sentence each. The kernel keeps no record of a path that a mount refuses, so
/// this is the program's own word; paths at which the sandbox lets a run write, below `workspace`, /tmp and /dev/shm,
/// are left out: what is refused there is refused by the file's own mode.
std::vector<std::string> denied_paths(std::string_view error_output, std::string_view workspace);

}  // namespace cmcp
