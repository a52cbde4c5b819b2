#pragma once

#include "wire/packet_socket.hpp"

#include <string>

/// Limits of the server's orders, so that a captured server does not make the launcher the attacker's tool.
namespace cmcp::sandbox {

/// Why `workspace` is none, as a sentence; empty: it is one, or `below` is empty. It has to lie below the folder
/// `below`, without links on the way.
std::string refuse_workspace(const std::string& workspace, const std::string& below);

/// Throws step_failed unless `path` is the zygote that was installed beside the launcher, the one program that it
/// executes.
void check_zygote(const std::string& path);

/// The body of a start message, from the packet or from its first descriptor, which is taken. Throws step_failed.
std::string take_body(packet& message);

}  // namespace cmcp::sandbox
