#include "jail/outside_socket.hpp"

#include "jail/setup_step.hpp"

#include <cstddef>
#include <cstring>
#include <string_view>

namespace cmcp::sandbox {

local_address outside_socket_address()
{
    constexpr std::string_view name = "container-mcp-outside";
    local_address to{};
    to.address.sun_family = AF_UNIX;
    std::memcpy(to.address.sun_path + 1, name.data(), name.size());  // a first byte of 0: no file
    to.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return to;
}

unique_fd make_outside_socket()
{
    unique_fd listener(check(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "make the probe's socket"));
    const local_address at = outside_socket_address();
    check(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at.address), at.length), "make the probe's socket");
    check(::listen(listener.get(), 1), "make the probe's socket");
    return listener;
}

}  // namespace cmcp::sandbox
