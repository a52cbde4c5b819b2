#pragma once

#include <cstdint>

/// How the server and the library in a sandbox's bash (shell_commands.cpp) speak, over one socket. First of all comes
/// the line shell_ready; a bash that ends without it lacks what the library needs. The server sends shell_command_head
/// and the texts that it measures, in its order. Answers are a line `MARK` once an interrupt would reach the command,
/// then a line `MARK STATUS FLAGS`, and the mark at the end of both outputs.
namespace cmcp::sandbox {

struct shell_command_head {
    std::uint32_t mark;
    std::uint32_t folder;    ///< absolute; empty: where the shell is
    std::uint32_t variable;  ///< `NAME=VALUE` to export from now on; empty: none
    std::uint32_t command;
};

inline constexpr int shell_channel_descriptor = 3;  ///< where the library finds the socket
inline constexpr char shell_preload[] = "/proc/self/fd/0";
inline constexpr char shell_ready[] = "ready";       ///< a line
inline constexpr char shell_ended_by_errexit = 'e';  ///< a flag: `set -e` ended the command
inline constexpr char shell_moved_output = 'o';      ///< `exec` had sent an output elsewhere, which came back

}  // namespace cmcp::sandbox
