#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace cmcp::backup {

/// Whose state goes into a backup. The default caller has the empty name.
struct principal_choice {
    std::vector<std::string> only{};  ///< empty: everybody's
    std::vector<std::string> without{};

    bool everybody() const { return only.empty() && without.empty(); }
    bool has(const std::string& name) const
    {
        if (std::ranges::find(without, name) != without.end()) return false;
        return only.empty() || std::ranges::find(only, name) != only.end();
    }
};

}  // namespace cmcp::backup
