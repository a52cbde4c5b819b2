#pragma once

#include "commands/commands.hpp"
#include "config/load_settings.hpp"
#include "connect/client.hpp"

#include <string>
#include <vector>

namespace cmcp::command {

/// Where a client finds the server, and what the user should know of that.
struct connect_target {
    connect::server_entry server;
    bool wants_key = false;  ///< authorization is still to come, from a key that is made
    std::vector<std::string> notes;
};

/// From the settings and the command line. Reads `--key -` from standard input. Throws config_error.
connect_target target_of(const loaded_settings& loaded, const connect_words& line, const connect::client& of);

}  // namespace cmcp::command
