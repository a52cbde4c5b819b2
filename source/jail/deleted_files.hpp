#pragma once

#include <sys/types.h>

#include <cstdint>

namespace cmcp::sandbox {

/// Bytes that files take on `device` although no folder names them any more, because a process of this /proc (an open
/// folder) has them open or mapped. A mapped one counts with the size of the mapping.
std::uint64_t deleted_files(int processes, dev_t device);

}  // namespace cmcp::sandbox
