#pragma once

#include <stdexcept>

namespace cmcp::snapshots {

/// A stop was asked for while a snapshot was written or read.
struct snapshot_stopped : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace cmcp::snapshots
