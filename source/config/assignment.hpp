#pragma once

#include <string>
#include <vector>

namespace cmcp {

/// KEY = value, as one of the sources says it.
struct assignment {
    std::string key;  ///< as written (a path with dots in config.toml)
    std::string value;
    std::string origin;  ///< "--set", "environment", "volume/config/custom.env:3"
};

using assignments = std::vector<assignment>;

}  // namespace cmcp
