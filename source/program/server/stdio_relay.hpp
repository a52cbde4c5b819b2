#pragma once

#include "config/load_settings.hpp"
#include "http/bound_address.hpp"
#include "server/server_child.hpp"

#include <optional>
#include <variant>

namespace cmcp::command {

/// The socket of SANDBOX_ROOT at which a server takes the clients of `container-mcp stdio`. A server that cannot have
/// it says so in the log and serves all the same.
std::optional<bound_address> stdio_socket(const settings& config);

/// Hands the client on the standard streams to the server that runs for SANDBOX_ROOT, and when that one ends, to the
/// next: one that has been started meanwhile, or a child, which is `again` once more. Returns the exit code when the
/// client has ended. Where no server runs, nothing but the socket, at which this process is to serve others.
/// Throws std::runtime_error where a server refuses the client or does not answer, or none can be started.
using relay_or_socket = std::variant<int, std::optional<bound_address>>;
relay_or_socket relay_stdio(const loaded_settings& loaded, const own_start& again);

}  // namespace cmcp::command
