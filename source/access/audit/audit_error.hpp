#pragma once

#include <stdexcept>

namespace cmcp::audit {

/// The audit cannot be written or read; what() is a sentence that says what to do.
struct audit_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace cmcp::audit
