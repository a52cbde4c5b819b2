#pragma once

#include <cstdint>

namespace cmcp {

/// Bytes of memory that this process and its sandboxes may have together: those of the machine, or fewer where a cgroup
/// that holds the process has a limit. 0: nothing is known.
std::uint64_t memory_of_this_place();

}  // namespace cmcp
