#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// A server of a cluster, as CLUSTER_MEMBERS names it.
struct cluster_member {
    std::string name;  ///< the node of its handles: 1 to 24 characters of [a-z0-9-]
    std::string host;  ///< a name or an address, in v6 without brackets
    std::uint16_t port = 0;
};

/// "host:port", an address of v6 in brackets. Nothing: the text has another form.
std::optional<std::pair<std::string, std::uint16_t>> read_host_and_port(std::string_view text);

/// Of words "name=host:port". Throws std::invalid_argument with what is allowed.
std::vector<cluster_member> read_members(const std::vector<std::string>& words);

}  // namespace cmcp
