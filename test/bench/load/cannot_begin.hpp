#pragma once

#include <stdexcept>

namespace cmcp::load {

/// The load test cannot start; the text is for the user.
struct cannot_begin : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace cmcp::load
