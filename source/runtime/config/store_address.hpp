#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// Where SNAPSHOT_STORE is: https://host[:port]/bucket[/prefix], or http://. The bucket stands in the path, as all
/// S3-compatible storages take it.
struct store_address {
    bool secure = true;
    std::string host{};      ///< a name or an address, in v6 with brackets
    std::uint16_t port = 0;  ///< 0: the scheme's own
    std::string bucket{};
    std::string prefix{};  ///< empty, or as "a/b/"

    static std::optional<store_address> read(std::string_view text);
};

}  // namespace cmcp
