#pragma once

#include "egress/egress_policy.hpp"
#include "egress/secret_position.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// A secret as the guard has it for one sandbox, whose programs have the placeholder.
struct held_secret {
    static constexpr std::uint16_t usual_port = 443;

    std::string name;
    std::vector<egress_entry> hosts;  ///< with a port each
    secret_position position;
    std::string value;
    std::string placeholder;

    bool is_for(const host& who, std::uint16_t port) const
    {
        return std::ranges::any_of(hosts, [&](const egress_entry& each) { return each.names(who, port); });
    }
    bool concerns(const host& who) const  ///< at any port
    {
        return std::ranges::any_of(hosts, [&](const egress_entry& each) { return each.names(who, each.port); });
    }
};

/// Names and *.names, with a port or for 443. Throws std::invalid_argument with a sentence.
std::vector<egress_entry> read_secret_hosts(std::string_view text);

}  // namespace cmcp
