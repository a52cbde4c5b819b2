#pragma once

#include "config/settings.hpp"
#include "jsonrpc/json.hpp"

#include <chrono>
#include <stdexcept>
#include <string>

namespace cmcp::command {

/// The socket at which a server is administered. Its path is absolute.
std::string admin_socket_path(const settings& config);

/// The answer of the running server.
struct admin_answer {
    int status = 0;
    json::object body;
};

struct admin_request {
    std::string body;  ///< JSON
    std::chrono::seconds patience{60};
};

/// Asks the server that runs for SANDBOX_ROOT. Blocks. Throws std::runtime_error with a sentence where none answers.
admin_answer ask_administration(const settings& config, const std::string& method, const std::string& path,
                                const admin_request& more = {});

/// Whether a server runs for SANDBOX_ROOT. Throws std::runtime_error where this user may not ask it.
bool server_runs(const settings& config);

}  // namespace cmcp::command
