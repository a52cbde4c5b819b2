#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The refused paths that a run's error output names (strerror(3) of EROFS, EACCES and EPERM, as the C
/// library, shells and Python print it), a sentence each. The kernel keeps no record of a path that a mount refuses, so
/// this is the program's own word; paths at which the sandbox lets a run write, below `workspace`, /tmp and /dev/shm,
/// are left out, because the file's own mode refuses them.
std::vector<std::string> denied_paths(std::string_view error_output, std::string_view workspace);

}  // namespace cmcp
