#pragma once

#include "jail/layer.hpp"

#include <string>

namespace cmcp::command {

struct remedy {
    std::string command;    ///< for a shell, as root where it must be; empty: none is known
    bool optional = false;  ///< nothing is wrong: something is not installed, or not built
};

/// What mends a layer that is off or degraded, by its detail and by what this machine's kernel is set to.
remedy remedy_of(const sandbox::layer& lacking);

}  // namespace cmcp::command
