#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace cmcp {

/// An upstream server as an administrator sees it, without secrets.
struct upstream_state {
    std::string name;
    std::string kind;      ///< "http" or "stdio"
    std::string place;     ///< origin of the URL, or the first word of the command
    std::string status;    ///< "idle": not asked yet or ended while unused, "ready", "failed"
    std::string protocol;  ///< the revision that was agreed on; empty: none yet
    std::string problem;   ///< the latest, a sentence; empty: none
    std::size_t tools = 0;
    std::uint64_t calls = 0;  ///< since the start
};

}  // namespace cmcp
