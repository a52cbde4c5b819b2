#pragma once

#include <stdexcept>

namespace cmcp {

/// The configuration cannot be used; what() is one sentence for the user that names key, value, position and what is
/// allowed.
struct config_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace cmcp
