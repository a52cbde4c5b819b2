#pragma once

#include <stdexcept>

namespace cmcp::backup {

/// The archive is no backup that may be restored; what() is a sentence.
struct bad_archive : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace cmcp::backup
