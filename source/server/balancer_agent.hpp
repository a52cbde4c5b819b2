#pragma once

#include "async/asio.hpp"

#include <functional>
#include <string>

namespace cmcp::command {

/// Answers each connection with the line and closes it: HAProxy's agent check (Configuration Manual, "agent-check").
/// `place`: host:port. Throws config_error.
awaitable<> answer_balancers(asio::any_io_executor executor, std::string place, std::function<std::string()> line);

/// "up 75%", by the pressure of cluster/placement.hpp; "drain" where the server ends.
std::string balancer_line(double pressure, bool drains);

}  // namespace cmcp::command
