#pragma once

#include "config/load_settings.hpp"
#include "server/server_child.hpp"

namespace cmcp::command {

/// Each returns the program's exit code and throws config_error or std::exception with a sentence for the user.

int serve(const loaded_settings& loaded, const settings_sources& sources);  ///< until SIGTERM or SIGINT
/// Until standard input ends, SIGTERM or SIGINT.
int stdio(const loaded_settings& loaded, const own_start& again);

}  // namespace cmcp::command
