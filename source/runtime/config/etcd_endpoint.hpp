#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// A member of etcd, as CLUSTER_ETCD names it: http://host[:port] or https://host[:port].
struct etcd_endpoint {
    bool secure = false;
    std::string host{};  ///< a name or an address, in v6 without brackets
    std::uint16_t port = 2379;

    static std::optional<etcd_endpoint> read(std::string_view text);
};

}  // namespace cmcp
