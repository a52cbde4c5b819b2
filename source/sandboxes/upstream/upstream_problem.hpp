#pragma once

#include <stdexcept>
#include <string>

namespace cmcp {

/// An upstream server that gave no result; what() is a sentence for the caller, without secrets.
struct upstream_problem : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace cmcp
