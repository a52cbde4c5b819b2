#pragma once

#include <cstddef>

namespace cmcp::backup {

/// Gives bytes in order.
class byte_source {
public:
    virtual ~byte_source() = default;

    /// Fills `into`; fewer bytes only at the end. Throws bad_archive or std::runtime_error.
    virtual std::size_t take(char* into, std::size_t most) = 0;
};

}  // namespace cmcp::backup
