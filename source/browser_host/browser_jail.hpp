#pragma once

#include "jail/namespaces.hpp"
#include "jail/watchdog.hpp"
#include "wire/browser_host_protocol.hpp"

namespace cmcp::browser_host {

/// The child's orders to become the browser.
struct jail_plan {
    browser_host_protocol::start_message start;
    std::string policy;          ///< JSON of the managed policy
    sandbox::id_pair outside{};  ///< who the browser is outside
    bool maps_itself = false;    ///< without privilege the child writes its own id map
    unique_fd control;           ///< to the host: SOCK_SEQPACKET, messages of browser_host_protocol
    unique_fd stream;            ///< the browser's end of the DevTools stream
    unique_fd error;             ///< the browser's standard error
};

inline constexpr const char* home = "/home/browser";  ///< of the browser, inside; a memory file system

/// Builds the root of the browser and enters it: /usr read-only, a generated /etc, a few devices, its own /proc, memory
/// file systems for everything that is written. Nothing of it outlives the mount namespace, which must be the caller's
/// own. Returns the file systems of which the host counts the memory. Throws step_failed.
sandbox::usage_sources enter_browser_root(const jail_plan& plan);

/// The child that clone_into_namespaces made: makes the listeners, builds the root, gives up its privileges, starts the
/// browser and stays as process 1. Reports `ready` with the listeners and, after them, /proc, /tmp and /dev/shm.
[[noreturn]] void become_browser(jail_plan& plan);

}  // namespace cmcp::browser_host
