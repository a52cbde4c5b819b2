#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cmcp {

/// A server of a cluster, as it registers itself.
struct cluster_member {
    std::string name;  ///< the node of its handles: 1 to 24 characters of [a-z0-9-]
    std::string host;  ///< a name or an address, in v6 without brackets
    std::uint16_t port = 0;
};

/// "host:port", an address of v6 in brackets. Nothing: the text has another form.
std::optional<std::pair<std::string, std::uint16_t>> read_host_and_port(std::string_view text);

/// Whether a server of a cluster may have this name.
bool is_member_name(std::string_view text);

}  // namespace cmcp
