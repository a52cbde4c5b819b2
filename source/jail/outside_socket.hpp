#pragma once

#include "posix/unique_fd.hpp"

#include <sys/socket.h>
#include <sys/un.h>

namespace cmcp::sandbox {

struct local_address {
    sockaddr_un address;
    socklen_t length;
};

/// The abstract name of the socket by which a probe run finds out whether its rules keep it from sockets made outside
/// them.
local_address outside_socket_address();

/// Listens there, in the caller's network namespace. Throws step_failed.
unique_fd make_outside_socket();

}  // namespace cmcp::sandbox
