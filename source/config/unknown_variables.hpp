#pragma once

#include "config/load_settings.hpp"

#include <string>
#include <vector>

namespace cmcp {

/// A sentence for each variable that looks like one of our settings but is none: most often a typing error.
std::vector<std::string> warn_of_unknown(const environment& variables);

}  // namespace cmcp
