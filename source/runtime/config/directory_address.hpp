#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// Where CLUSTER_DIRECTORY is: redis://[[name]:password@]host[:port][/number], rediss:// over TLS (as the IANA
/// registrations of both schemes have it).
struct directory_address {
    bool secure = false;
    std::string user{}, password{};
    std::string host{};  ///< a name or an address, in v6 without brackets
    std::uint16_t port = 6379;
    std::string database{};  ///< its number; empty: the first

    static std::optional<directory_address> read(std::string_view text);
};

}  // namespace cmcp
