#pragma once

#include <string>
#include <vector>

namespace cmcp::command {

/// Overwrites the values of secret settings in the environment and in the arguments of this process, where /proc would
/// tell them to its user for as long as it runs. After the settings were read. `variables`: further ones.
void hide_secrets(int argc, char** argv, const std::vector<std::string>& variables);

}  // namespace cmcp::command
