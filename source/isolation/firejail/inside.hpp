#pragma once

#include "jail/jail.hpp"

#include <string>

/// A cell under Firejail. Firejail makes namespaces and mounts and then starts this program once more, inside; it takes
/// the last steps of a first process and serves the cell.
namespace cmcp::sandbox {

inline constexpr const char* inside_argument = "--inside";

/// Descriptors that Firejail leaves open: the control socket and the program itself.
inline constexpr int inside_control = 3;
inline constexpr int inside_program = 4;

/// Hands a plan over. `namespaces_outside`: namespace_facts() of where Firejail was started. Throws step_failed.
void send_inside_plan(int control, const jail_plan& plan, const std::string& namespaces_outside);

/// The program's whole life inside. Runs nothing where Firejail did not confine it. When the launcher goes, everything
/// ends.
[[noreturn]] void live_inside(unique_fd socket);

}  // namespace cmcp::sandbox
