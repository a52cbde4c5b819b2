#pragma once

#include "config/load_settings.hpp"

#include <string>

namespace cmcp::command {

/// The user's command line.
struct command_line {
    std::string command = "serve";  ///< serve, stdio, config, doctor or version
    settings_sources sources;
    bool json = false;  ///< config, doctor: for programs instead of people
    bool live = false;  ///< health: whether the server answers, not whether it is ready
};

/// The program ends at once, because help was shown or the command line is wrong (stderr says why).
struct early_exit {
    int code;
};

/// Throws early_exit, or config_error for --set without a value.
command_line parse_command_line(int argc, char** argv);

}  // namespace cmcp::command
