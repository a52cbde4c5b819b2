#pragma once

#include "facilities/namespaces.hpp"
#include "local/file_rules.hpp"
#include "posix/unique_fd.hpp"

#include <signal.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// First byte of the messages of a local sandbox's first process.
enum class local_says : char {
    doors = 'd',   ///< the sockets of its network, before anything runs (jail/doors.hpp)
    denied = 'n',  ///< a denial
    begun =
        'b',  ///< the program is about to be executed; then whether refusals are heard, and whether there is a /proc
    failed = 'f',  ///< errno and step: nothing was executed
    absent = 'a',  ///< errno: the program cannot be executed
    ended = 'e',   ///< the wait status of the program
};

/// What it needs. `control`: its end of a packet socket, over which the numbers of signals for the program arrive.
struct local_plan {
    std::vector<std::string> argv;
    std::vector<std::string> environment;  ///< NAME=value
    const file_rules* rules = nullptr;
    std::string working;
    id_pair user{};
    std::vector<std::uint16_t> ports;  ///< of the network by names; none: no way out
    sigset_t signals{};                ///< that the program is to have blocked
    unique_fd control;
};

/// In a process that was cloned into new namespaces: makes the sandbox, runs the program in it and never returns. The
/// program's processes end with it.
[[noreturn]] void live_as_first_process(local_plan& plan);

}  // namespace cmcp::sandbox
