#pragma once

#include "async/asio.hpp"
#include "posix/unique_fd.hpp"

#include <cstdint>

namespace cmcp {

/// Lets a sandbox without network reach one port of this machine's loopback (that of the egress guard) and nothing
/// else, until the other end of `channel` is closed or the coroutine is cancelled. Connections made inside come as
/// frames: the kind ('o' opened, 'd' data, 'c' closed), the connection's number and the length of the data (four bytes
/// each, big end first), then the data. The sandbox is not trusted, so lengths and numbers are bounded. Io thread only.
awaitable<> relay_packages(unique_fd channel, std::uint16_t port);

}  // namespace cmcp
