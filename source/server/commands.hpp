#pragma once

#include "config/load_settings.hpp"

namespace cmcp::command {

/// Each returns the program's exit code and throws config_error or std::exception with a sentence for the user.

int serve(const loaded_settings& loaded);  ///< until SIGTERM or SIGINT
int stdio(const loaded_settings& loaded);  ///< until standard input ends, SIGTERM or SIGINT
int show_config(const loaded_settings& loaded, bool json);
int doctor(const loaded_settings& loaded, bool json);  ///< 1 when a layer that SANDBOX_REQUIRE names is missing
/// 1 when no server answers on the address of the settings, or the server is not ready; `live`: any answer will do.
int health(const loaded_settings& loaded, bool live);

}  // namespace cmcp::command
