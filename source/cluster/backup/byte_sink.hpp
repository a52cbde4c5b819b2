#pragma once

#include <string_view>

namespace cmcp::backup {

/// Takes bytes in order. Throws std::runtime_error where they cannot be kept.
class byte_sink {
public:
    virtual ~byte_sink() = default;
    virtual void put(std::string_view bytes) = 0;
};

}  // namespace cmcp::backup
