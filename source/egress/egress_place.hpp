#pragma once

#include "egress/host.hpp"

#include <cstdint>

namespace cmcp {

/// Where a connection is to go.
struct egress_place {
    host who;
    std::uint16_t port = 0;
};

}  // namespace cmcp
