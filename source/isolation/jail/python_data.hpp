#pragma once

#include <string>
#include <vector>

namespace cmcp::sandbox {

/// The folders below `share` in which distributions keep data of the Python packages in `modules`: those that are named
/// as a package is (matplotlib, python3-matplotlib), and those that a link in `modules` leads into.
std::vector<std::string> python_data_folders(const std::string& modules, const std::string& share = "/usr/share");

}  // namespace cmcp::sandbox
