#pragma once

#include "jsonrpc/json.hpp"

#include <string>
#include <vector>

namespace cmcp {

/// The arguments that start the Python program of a kernel: `interpreter` as it is called inside, the workspace's path
/// inside. The program takes code over the socket that is its descriptor 3. `stored_folder`: of the workspace, for what
/// the kernel keeps. `forgets`: it takes nothing that the kernel before has kept.
std::vector<std::string> kernel_arguments(std::string interpreter, std::string workspace_inside,
                                          std::string stored_folder, bool forgets);

/// The first message to a kernel: programs that few kernels need.
json::object later_kernel_programs();

}  // namespace cmcp
