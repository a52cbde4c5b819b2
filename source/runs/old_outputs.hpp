#pragma once

#include <cstddef>
#include <cstdint>

namespace cmcp {

/// Removes the oldest kept outputs (regular files named as output_store names them) from the folder `descriptor` until
/// at most `files` and `bytes` of them are left. Looks at a bounded number of entries. Blocks.
void remove_old_outputs(int descriptor, std::size_t files, std::uint64_t bytes);

}  // namespace cmcp
