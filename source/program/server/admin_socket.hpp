#pragma once

#include "jsonrpc/json.hpp"
#include "posix/unique_fd.hpp"
#include "remote/server_place.hpp"

#include <chrono>
#include <stdexcept>
#include <string>

namespace cmcp {
struct settings;
}  // namespace cmcp

namespace cmcp::command {

/// A blocking connection to a UNIX socket; none with errno.
unique_fd connect_to(const std::string& path);

/// The answer of the running server.
struct admin_answer {
    int status = 0;
    json::object body;
};

struct admin_request {
    std::string body;  ///< JSON
    std::chrono::seconds patience{60};
};

/// Asks a server. Blocks. Throws std::runtime_error with a sentence where none answers.
admin_answer ask_administration(const server_place& of, const std::string& method, const std::string& path,
                                const admin_request& more = {});

/// Asks the server that runs for SANDBOX_ROOT. Blocks. Throws std::runtime_error with a sentence where none answers.
admin_answer ask_administration(const settings& config, const std::string& method, const std::string& path,
                                const admin_request& more = {});

/// Whether a server runs for SANDBOX_ROOT. Throws std::runtime_error where this user may not ask it.
bool server_runs(const settings& config);

}  // namespace cmcp::command
