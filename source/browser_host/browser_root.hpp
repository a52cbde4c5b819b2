#pragma once

#include "jail/watchdog.hpp"

#include <cstdint>
#include <string>

namespace cmcp::browser_host {

inline constexpr const char* home = "/home/browser";  ///< of the browser, inside; a memory file system

struct root_plan {
    std::string program;      ///< absolute path of the browser, outside and inside
    std::string policy;       ///< JSON of the managed policy
    std::uint64_t files = 0;  ///< bytes of each memory file system
};

/// Builds the root of the browser and enters it: /usr read-only, a generated /etc, a few devices, its own /proc, memory
/// file systems for everything that is written. Nothing of it outlives the mount namespace, which must be the caller's
/// own. Returns the file systems of which the host counts the memory. Throws step_failed.
sandbox::usage_sources enter_browser_root(const root_plan& plan);

}  // namespace cmcp::browser_host
