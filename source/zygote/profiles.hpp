#pragma once

#include <string>
#include <vector>

namespace cmcp::sandbox {

/// The modules that a profile loads beforehand. Those that are not installed are left out.
std::vector<std::string> modules_of(const std::string& profile);

}  // namespace cmcp::sandbox
