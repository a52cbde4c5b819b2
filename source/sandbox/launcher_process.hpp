#pragma once

#include "posix/unique_fd.hpp"

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// Options of a launcher.
struct launcher_options {
    std::string workspaces{};  ///< absolute folder below which every workspace must be; empty: anywhere
    std::string
        firejail{};  ///< absolute path of the program that confines runs in the launcher's stead; empty: none does
    std::size_t waiting = 0;  ///< runs that are kept ready, confined, for the next program of the caller that came last
    bool use_cgroups = true;  ///< place runs into cgroups where a writable v2 folder with controllers exists
};

/// A started launcher. The launcher ends when `socket` is closed, and at the latest when the server's process ends.
struct launcher_process {
    pid_t pid = -1;
    unique_fd pidfd;   ///< readable when the launcher has ended; wait for it with waitid(P_PIDFD)
    unique_fd socket;  ///< SOCK_SEQPACKET: one message of launcher_protocol.hpp a packet
};

/// The launcher's command line for these options.
std::vector<std::string> arguments_of(const launcher_options& options);

/// Starts the program at `path` with an empty environment and nothing open but the socket (as descriptor 3) and
/// standard error. Call it before any thread exists where possible. Throws std::system_error.
launcher_process start_launcher(const std::string& path, const launcher_options& options = {});

}  // namespace cmcp::sandbox
