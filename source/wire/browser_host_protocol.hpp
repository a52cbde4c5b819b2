#pragma once

#include "wire/wire.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Messages between the server and container-mcp-browser (which makes the browser's namespaces) over a SOCK_SEQPACKET
/// socket, one a packet (wire.hpp), the kind in the first byte.
namespace cmcp::browser_host_protocol {

/// Ports on the loopback address of the browser's network namespace at which its proxies listen, one a listener.
inline constexpr std::uint16_t first_proxy_port = 3128;

/// Browsers that live at once.
inline constexpr std::uint32_t most_browsers = 10;

/// The step that fails where the browser cannot make its own sandbox.
inline constexpr const char* own_sandbox_step = "make the browser's own sandbox";

/// Server to host, once. Descriptors: the browser's end of the DevTools stream, and a file with the browser's managed
/// policy in JSON.
struct start_message {
    std::vector<std::string> argv;
    std::uint64_t memory = 0;       ///< bytes, all processes together; the largest is ended when it is passed
    std::uint64_t files = 0;        ///< bytes of /tmp, /dev/shm and the profile, each
    std::uint32_t proxies = 0;      ///< listeners to make
    std::uint32_t number = 0;       ///< below most_browsers; browsers of one number are one user under root
    bool needs_own_sandbox = true;  ///< false: it goes without where it cannot make its own sandbox
    bool trial = false;             ///< starts nothing; the answer is `ready` or `failed`
};

enum class event : char {
    ready = 'r',   ///< the namespaces stand; descriptors: the listeners
    failed = 'f',  ///< `step`, `error`: nothing runs
    killed = 'k',  ///< the largest process was ended: the memory limit was passed
    ended = 'e',   ///< the browser is gone; `status` as wait() gives it, `step`: the end of its standard error
};

struct event_message {
    event what = event::failed;
    int error = 0;  ///< errno
    int status = 0;
    bool own_sandbox = false;  ///< ready: the browser can make its own sandbox inside
    std::string step{};
};

template <class Wire>
void fields(Wire& wire, sandbox::wired<Wire, start_message>& start)
{
    wire(start.argv, start.memory, start.files, start.proxies, start.number, start.needs_own_sandbox, start.trial);
}

template <class Wire>
void fields(Wire& wire, sandbox::wired<Wire, event_message>& message)
{
    wire(message.what, message.error, message.status, message.own_sandbox, message.step);
}

}  // namespace cmcp::browser_host_protocol
