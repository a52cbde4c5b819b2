#pragma once

#include "config/load_settings.hpp"

#include <string>

namespace cmcp::command {

/// What the user asked for.
struct command_line {
    std::string command = "serve";  ///< serve, stdio, config, doctor or version
    settings_sources sources;
    bool json = false;  ///< config, doctor: for programs instead of people
    bool live = false;  ///< health: whether the server answers, not whether it is ready
};

/// Thrown when there is nothing more to do than to end: help was shown, or the command line is wrong (told on stderr).
struct early_exit {
    int code;
};

/// Throws early_exit, or config_error for --set without a value.
command_line parse_command_line(int argc, char** argv);

}  // namespace cmcp::command
