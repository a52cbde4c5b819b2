#pragma once

#include <stdexcept>

namespace cmcp::snapshots {

/// The snapshot is damaged, incomplete, another's, or sealed with another key; what() is a sentence.
struct bad_snapshot : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace cmcp::snapshots
