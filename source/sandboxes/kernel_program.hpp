#pragma once

#include <string>
#include <vector>

namespace cmcp {

/// The arguments that start the Python program of a kernel: `interpreter` as it is called inside, the workspace's path
/// inside. The program takes code over the socket that is its descriptor 3.
std::vector<std::string> kernel_arguments(std::string interpreter, std::string workspace_inside);

}  // namespace cmcp
