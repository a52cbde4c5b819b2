#pragma once

#include <stdexcept>

namespace cmcp::load {

/// Why no load can be put on a server; the text is for the user.
struct cannot_begin : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace cmcp::load
