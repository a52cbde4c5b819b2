#pragma once

#include "egress/egress_policy.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cmcp {

struct sandbox_settings;

/// The operator's lists of hosts for the programs of sandboxes.
struct network_lists {
    std::vector<std::string> usual;     ///< of a sandbox that asks for none
    std::vector<egress_entry> ceiling;  ///< of any sandbox
    std::vector<egress_entry> opened;   ///< that may be reached though they are not public
    std::vector<std::uint16_t> ports;   ///< at which the names of a sandbox's network listen: 80, 443 and those named

    /// From SANDBOX_NETWORK, SANDBOX_NETWORK_ALLOWED and SANDBOX_NETWORK_PRIVATE. Throws config_error.
    static network_lists of(const sandbox_settings& config);
};

/// The entries of a sandbox's own list as its record has them. None where one of them cannot be read: without a
/// refusing entry the others would allow more than was meant.
std::vector<egress_entry> recorded_entries(const std::string& sandbox, const std::vector<std::string>& hosts);

}  // namespace cmcp
