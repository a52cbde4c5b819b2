#pragma once

#include "http/listener.hpp"

#include <functional>
#include <string>

namespace cmcp::command {

/// Answers each client of the address with the line and closes the connection: HAProxy's agent check (Configuration
/// Manual, "agent-check"). Both must outlive the tasks.
void answer_balancers(listener& at, task_group& tasks, std::function<std::string()> line);

/// "up ready 75%", by the pressure of cluster/placement.hpp; "drain" where the server ends.
std::string balancer_line(double pressure, bool drains);

}  // namespace cmcp::command
