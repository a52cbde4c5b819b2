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

/// The same for JavaScript and TypeScript, by the Node.js that is found inside. Its cells have "typescript" for the
/// latter; variables are neither kept nor copied.
std::vector<std::string> node_kernel_arguments(std::string workspace_inside);

/// The first message to a kernel: programs that few kernels need.
json::object later_kernel_programs();

}  // namespace cmcp
