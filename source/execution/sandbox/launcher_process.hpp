#pragma once

#include "posix/unique_fd.hpp"
#include "wire/launcher_options.hpp"
#include "wire/program_starter.hpp"

#include <sys/types.h>

#include <string>

namespace cmcp::sandbox {

/// A started launcher. The launcher ends when `socket` is closed, and at the latest when the server's process ends.
struct launcher_process {
    pid_t pid = -1;
    unique_fd pidfd;   ///< readable when the launcher has ended; wait for it with waitid(P_PIDFD)
    unique_fd socket;  ///< SOCK_SEQPACKET: one message of launcher_protocol.hpp a packet
};

startable_program launcher_program(const std::string& path, const launcher_options& options = {});

/// Starts the program at `path` with an empty environment and nothing open but the socket (as descriptor 3) and
/// standard error. Call it before any thread exists where possible. Throws std::system_error.
launcher_process start_launcher(const std::string& path, const launcher_options& options = {});

}  // namespace cmcp::sandbox
