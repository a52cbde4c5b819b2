#pragma once

#include "jail/namespaces.hpp"
#include "wire/browser_host_protocol.hpp"

namespace cmcp::browser_host {

/// The child's orders to become the browser.
struct jail_plan {
    browser_host_protocol::start_message start;
    std::string policy;
    sandbox::id_pair outside{};  ///< who the browser is outside
    bool maps_itself = false;    ///< without privilege the child writes its own id map
    unique_fd control;           ///< to the host: SOCK_SEQPACKET, messages of browser_host_protocol
    unique_fd stream;            ///< the browser's end of the DevTools stream
    unique_fd error;             ///< the browser's standard error
};

/// The child that clone_into_namespaces made: makes the listeners, builds the root, gives up its privileges, starts the
/// browser and stays as process 1. Reports `ready` with the listeners and, after them, /proc, /tmp and /dev/shm.
[[noreturn]] void become_browser(jail_plan& plan);

}  // namespace cmcp::browser_host
