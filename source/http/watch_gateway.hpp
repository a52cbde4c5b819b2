#pragma once

#include <string_view>

namespace cmcp {

/// A member of a cluster, as the other members watch it. `from` is the name in the certificate of the one that asks.
class watch_gateway {
public:
    virtual ~watch_gateway() = default;

    /// Whether a beat is acknowledged.
    virtual bool take_beat(std::string_view from) = 0;

    /// Whether this member agrees that `about` is gone.
    virtual bool vote(std::string_view from, std::string_view about) = 0;
};

}  // namespace cmcp
