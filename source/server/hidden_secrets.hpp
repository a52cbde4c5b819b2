#pragma once

namespace cmcp::command {

/// Overwrites the values of secret settings in the environment and in the arguments of this process, where /proc would
/// tell them to its user for as long as it runs. After the settings were read.
void hide_secrets(int argc, char** argv);

}  // namespace cmcp::command
