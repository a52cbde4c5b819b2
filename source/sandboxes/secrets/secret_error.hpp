#pragma once

#include <stdexcept>

namespace cmcp {

/// The key of secrets cannot be used, or opens a secret not; what() is a sentence that says what to do.
struct secret_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace cmcp
